"""Changing several tables together: what a transaction holds, checks and commits."""
