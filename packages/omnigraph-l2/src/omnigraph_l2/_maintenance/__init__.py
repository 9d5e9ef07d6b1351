"""Keeping a repository small, fast and whole: cleanup, optimize, verify, repair."""
