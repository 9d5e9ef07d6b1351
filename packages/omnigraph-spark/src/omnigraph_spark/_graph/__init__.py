"""Read a whole graph as data frames, and run graph algorithms on it."""
