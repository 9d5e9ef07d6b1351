"""The program ``omnigraph-spark``."""
