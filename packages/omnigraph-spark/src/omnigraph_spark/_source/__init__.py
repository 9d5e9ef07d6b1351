"""The data source: what Spark calls to read and to write a table."""
