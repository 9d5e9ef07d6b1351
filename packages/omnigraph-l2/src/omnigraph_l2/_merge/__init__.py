"""Merging branches and reverting commits: merge base, three-way rule, schema merge."""
