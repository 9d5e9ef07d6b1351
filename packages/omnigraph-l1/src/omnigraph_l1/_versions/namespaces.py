"""What pylance asks of a version store: a namespace of one table, which manages its versions.

Always: a dataset that was opened with ``lance_arguments`` commits through them whatever is done
with its handle, on main and on branches. What goes round them (a plain URI, a pickled dataset) is
refused where it would write: see ``guarding``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from lance import LanceDataset

from omnigraph_l1._places import DynamoTable, Storage
from omnigraph_l1._refs.choosing import version_records
from omnigraph_l1._versions.deciding import Lineage
from omnigraph_l1._versions.guarding import look_again

__all__ = ["forget", "forget_branch", "is_first_of", "lance_arguments", "lineage"]


_VERSIONS: Final = "_versions"


def lance_arguments(storage: Storage) -> dict[str, Any]:
    """Give what is added to a call that opens or makes a dataset; nothing where Lance decides."""
    if storage.version_store is None or isinstance(storage.version_store, DynamoTable):
        return {}
    # Loading it takes a while, and nobody else needs it.
    from omnigraph_l1._versions.client import VersionsOfOneTable  # noqa: PLC0415

    return {
        "namespace_client": VersionsOfOneTable(
            storage.place.uri, lambda branch: lineage(storage, branch), look_again
        ),
        "table_id": [storage.place.name or "table"],
        "namespace_client_managed_versioning": True,
    }


def lineage(storage: Storage, branch: str | None) -> Lineage | None:
    """Give the versions of a lineage as the version store has them; None where Lance has them."""
    main = version_records(storage, _VERSIONS)
    if main is None or branch is None:
        return None if main is None else Lineage(storage, main)
    below = f"tree/{branch}/{_VERSIONS}"
    records = version_records(storage, below)
    return None if records is None else Lineage(storage, records, of_main=main, below=below)


def is_first_of(dataset: LanceDataset, storage: Storage) -> bool:
    """Tell whether this is the first version of a dataset, empty, as its version store decided."""
    if dataset.version != 1 or dataset.count_rows():
        return False
    decided = lineage(storage, None)
    return decided is None or decided.versions() == [1]


def forget(storage: Storage, branch: str | None, left: Collection[int]) -> None:
    """Drop the records of versions that were removed, now or by one who died: not among ``left``.

    One that is newer than all of them may not have its file yet.
    """
    decided = lineage(storage, branch)
    if decided is not None and left:
        newest = max(left)
        gone = (each for each in decided.versions() if each < newest and each not in left)
        decided.forget(gone)


def forget_branch(storage: Storage, name: str) -> None:
    """Drop the records of a branch that was deleted."""
    decided = lineage(storage, name)
    if decided is not None:
        decided.forget_all()
