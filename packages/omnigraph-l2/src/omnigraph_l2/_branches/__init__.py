"""What the names of graph branches mean."""
