"""Rows of tables: lossless casts, id sets, spilling, comparison of two versions of a table."""
