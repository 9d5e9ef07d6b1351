"""A state machine that drives a repository and compares it with a plain model."""
