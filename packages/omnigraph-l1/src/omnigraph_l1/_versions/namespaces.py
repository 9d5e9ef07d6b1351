"""What pylance asks of a version store: a namespace of one table, which manages its versions.

Always: a dataset that was opened with ``lance_arguments`` commits through them whatever is done
with its handle, on main and on branches. What goes round them (a plain URI, a pickled dataset) is
refused where it would write: see ``guarding``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from omnigraph_l1._places import DynamoTable, Storage
from omnigraph_l1._refs.choosing import version_records
from omnigraph_l1._versions.deciding import Lineage

__all__ = ["forget", "lance_arguments", "lineage"]


def lance_arguments(storage: Storage) -> dict[str, Any]:
    """Give what is added to a call that opens or makes a dataset; nothing where Lance decides."""
    if storage.version_store is None or isinstance(storage.version_store, DynamoTable):
        return {}
    # Loading it takes a while, and nobody else needs it.
    from omnigraph_l1._versions.client import VersionsOfOneTable  # noqa: PLC0415

    return {
        "namespace_client": VersionsOfOneTable(
            storage.place.uri, lambda branch: lineage(storage, branch)
        ),
        "table_id": [storage.place.name or "table"],
        "namespace_client_managed_versioning": True,
    }


def lineage(storage: Storage, branch: str | None) -> Lineage | None:
    """Give the versions of a lineage as the version store has them; None where Lance has them."""
    below = "" if branch is None else f"tree/{branch}/"
    records = version_records(storage, f"{below}_versions")
    return None if records is None else Lineage(storage, records)


def forget(storage: Storage, branch: str | None, versions: Iterable[int]) -> None:
    """Drop the records of versions that were removed."""
    decided = lineage(storage, branch)
    if decided is not None:
        decided.forget(versions)
