"""Making a change of many tables visible at once."""
