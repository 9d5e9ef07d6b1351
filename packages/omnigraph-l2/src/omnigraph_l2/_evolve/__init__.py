"""Changing the schema of a graph: what it takes, shown as a plan, and applied as one publish."""
