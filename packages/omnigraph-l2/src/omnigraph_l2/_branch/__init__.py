"""Branches: revisions, snapshots, the diff of two, the change feed; their creation and removal."""
