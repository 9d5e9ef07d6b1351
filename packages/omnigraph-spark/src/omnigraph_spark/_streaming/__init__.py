"""Streams into a graph."""
