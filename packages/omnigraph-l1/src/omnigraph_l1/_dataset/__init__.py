"""One version of one lineage of a dataset, open: identity, validation and flushing."""
