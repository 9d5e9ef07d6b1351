"""Merging branches, and taking commits back."""
