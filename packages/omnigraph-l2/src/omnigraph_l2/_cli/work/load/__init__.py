"""Bringing files into tables: reading them, fitting their rows, and setting aside what does not."""
