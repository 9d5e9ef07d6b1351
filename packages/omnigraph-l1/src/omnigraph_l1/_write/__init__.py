"""Changing a dataset: staged changes, commits with proof, schema, indexes, branches, compaction.

``staged_changes``, ``staged_deletes`` and ``row_changes`` write files that no reader sees;
``table_commit`` makes them visible and proves on which version.
"""
