"""Frozen values that all layers share: the schema of a graph, names, and checks of arguments."""
