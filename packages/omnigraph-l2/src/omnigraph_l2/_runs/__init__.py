"""Runs: work on an internal branch that is published as one commit, or not at all."""
