"""Streams of changes out of a table, and streams into tables."""
