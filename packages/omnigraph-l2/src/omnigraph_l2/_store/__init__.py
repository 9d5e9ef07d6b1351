"""What a repository keeps on disk: root, manifest, commit log, refs, run registry."""
