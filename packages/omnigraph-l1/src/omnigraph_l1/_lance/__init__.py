"""What is known of pylance: its errors, file names, records and schemas. No other folder knows."""
