"""Which run an operation began: ``_refs/operations/<sha256 of its hash>.json``.

Always: of several that begin one operation, the conditional write of this document decides. It
holds all that the registry says of the new run, so that anybody can finish what its author began.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import attrs

from omnigraph_l1 import JsonRefs, Ref
from omnigraph_l1.errors import RefChanged, RefExists, RefNotFound
from omnigraph_l2._runs.records import RunRecord, RunStatus
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import OPERATION_REFS
from omnigraph_l2.errors import CorruptRepository

__all__ = ["Named", "Operations"]

_FORMAT = 1


@attrs.frozen
class Named:
    """The run that an operation began, as it was when it began."""

    record: RunRecord
    ref: Ref


@attrs.frozen
class Operations:
    """The operations of a repository."""

    _root: Root

    def get(self, digest: str) -> Named | None:
        """Tell which run an operation began; None where it began none."""
        ref = self._refs.get(digest)
        return None if ref is None else Named(_parsed(ref, self._root.place), ref)

    def name(self, digest: str, record: RunRecord, before: Named | None) -> bool:
        """Let an operation mean a run: the first one, or one after ``before``, which ended.

        False where another process was faster.
        """
        try:
            if before is None:
                self._refs.create(digest, _written(record))
            else:
                self._refs.replace(before.ref, _written(record))
        except (RefExists, RefChanged, RefNotFound):
            return False
        return True

    @property
    def _refs(self) -> JsonRefs:
        return self._root.refs(OPERATION_REFS)


def _written(record: RunRecord) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "operation_hash": record.operation_hash,
        "run_id": record.run_id,
        "target_branch": record.target_branch,
        "run_branch": record.run_branch,
        "base_snapshot_id": record.base_snapshot_id,
        "base_manifest_version": record.base_manifest_version,
        "status": record.status.value,
        "published_snapshot_id": record.published_snapshot_id,
        "actor_id": record.actor_id,
        "created_at": record.created_at.isoformat(),
    }


def _parsed(ref: Ref, place: str) -> RunRecord:
    found = ref.value
    try:
        if found["format"] != _FORMAT:
            detail = f"its format is {found['format']!r}, known is {_FORMAT}"
            raise CorruptRepository(place=place, item=f"operation {ref.name}", detail=detail)
        moment = datetime.fromisoformat(found["created_at"]).astimezone(timezone.utc)
        return RunRecord(
            run_id=str(found["run_id"]),
            target_branch=str(found["target_branch"]),
            run_branch=str(found["run_branch"]),
            base_snapshot_id=str(found["base_snapshot_id"]),
            base_manifest_version=int(found["base_manifest_version"]),
            operation_hash=str(found["operation_hash"]),
            status=RunStatus(found["status"]),
            published_snapshot_id=found["published_snapshot_id"],
            created_at=moment,
            updated_at=moment,
            actor_id=found["actor_id"],
        )
    except (KeyError, TypeError, ValueError) as error:
        detail = f"it cannot be read ({type(error).__name__}: {error})"
        item = f"operation {ref.name}"
        raise CorruptRepository(place=place, item=item, detail=detail) from error
