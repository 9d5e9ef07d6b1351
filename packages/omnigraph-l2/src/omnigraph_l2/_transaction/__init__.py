"""Changing several tables together: pending tables, staged writes, and how they are committed."""
