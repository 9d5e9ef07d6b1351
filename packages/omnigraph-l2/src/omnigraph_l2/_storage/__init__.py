"""Where a repository is, and the handles that are open on its datasets."""

from omnigraph_l2._storage.root import Root

__all__ = ["Root"]
