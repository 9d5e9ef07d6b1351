"""Lance's record of what one commit did: who, on which version, which operation."""

from __future__ import annotations

from typing import Any

from lance import LanceDataset, Transaction

from omnigraph_l1._lance.failures import lance_calls

__all__ = ["read_transaction", "same_change"]


def read_transaction(dataset: LanceDataset, version: int) -> Transaction | None:
    """Read the record of a version; None where it has none, or one that cannot be shown.

    pylance cannot show a compaction that moved an index.
    """
    try:
        with lance_calls():
            return dataset.read_transaction(version)
    except TypeError:
        return None


def same_change(first: Transaction, second: Transaction) -> bool:
    """Tell whether two records that bear one id are of one change.

    What Lance may change when it puts a commit on top of others is not compared.
    """
    return _gist(first) == _gist(second)


def _gist(transaction: Transaction) -> tuple[Any, ...]:
    operation: Any = transaction.operation
    created = [*getattr(operation, "fragments", ()), *getattr(operation, "new_fragments", ())]
    # No two writes make files of one name.
    files = sorted(file.path for fragment in created for file in fragment.files)
    told = [getattr(operation, name, None) for name in ("predicate", "version")]
    return type(operation), files, told
