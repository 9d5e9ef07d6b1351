"""Types, values and errors on their way between Spark and a repository."""
