"""Formats of files: rows as CSV, NDJSON and Parquet, schemas and types as text."""
