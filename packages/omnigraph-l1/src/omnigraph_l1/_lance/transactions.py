"""Lance's record of what one commit did: who, on which version, which operation."""

from __future__ import annotations

from lance import LanceDataset, Transaction

from omnigraph_l1._lance.failures import lance_calls

__all__ = ["read_transaction"]


def read_transaction(dataset: LanceDataset, version: int) -> Transaction | None:
    """Read the record of a version; None where it has none, or one that cannot be shown.

    pylance cannot show a compaction that moved an index.
    """
    try:
        with lance_calls():
            return dataset.read_transaction(version)
    except TypeError:
        return None
