"""What users name, a branch, a tag, a commit, a version, and the moment of the graph it means."""
