"""What users pass to Spark and to functions, as checked values."""
