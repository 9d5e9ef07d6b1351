"""Reading a branch: revisions, snapshots, the diff of two snapshots, the change feed."""
