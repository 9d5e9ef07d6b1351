"""Which run an operation began: ``_refs/operations/<sha256 of its hash>.json``.

Invariant: if several processes begin one operation, the conditional write of this document decides.
The document holds everything that the registry says of the new run, so that any process can finish
what its author began.
"""

from __future__ import annotations

from typing import Any

import attrs

from omnigraph_l1 import JsonRefs, Ref
from omnigraph_l1.errors import RefChanged, RefExists, RefNotFound
from omnigraph_l2._model.repository_layout import OPERATION_REFS
from omnigraph_l2._store.ref_documents import (
    DOCUMENT_FORMAT,
    check_number,
    check_optional,
    check_type,
    parse_time,
    reading_document,
)
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.run_registry import RunRecord, RunStatus

__all__ = ["Named", "Operations"]


@attrs.frozen
class Named:
    """The run that an operation began, as it was at the beginning."""

    record: RunRecord
    ref: Ref


@attrs.frozen
class Operations:
    """The operations of a repository."""

    _root: RepositoryRoot

    def get(self, digest: str) -> Named | None:
        """Return the run that an operation began; None if it began none."""
        ref = self._refs.get(digest)
        return None if ref is None else Named(_parse(ref, self._root.location), ref)

    def name(self, digest: str, record: RunRecord, before: Named | None) -> bool:
        """Record the run of an operation: the first one, or one after ``before``, which ended.

        Return False if another process was faster.
        """
        try:
            if before is None:
                self._refs.create(digest, _write_document(record))
            else:
                self._refs.replace(before.ref, _write_document(record))
        except (RefExists, RefChanged, RefNotFound):
            return False
        return True

    @property
    def _refs(self) -> JsonRefs:
        return self._root.refs(OPERATION_REFS)


def _write_document(record: RunRecord) -> dict[str, Any]:
    return {
        "format": DOCUMENT_FORMAT,
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


def _parse(ref: Ref, location: str) -> RunRecord:
    found = ref.value
    with reading_document(found, item=f"operation {ref.name}", location=location):
        moment = parse_time(found["created_at"])
        return RunRecord(
            run_id=check_type(found["run_id"], str),
            target_branch=check_type(found["target_branch"], str),
            run_branch=check_type(found["run_branch"], str),
            base_snapshot_id=check_type(found["base_snapshot_id"], str),
            base_manifest_version=check_number(found["base_manifest_version"]),
            operation_hash=check_type(found["operation_hash"], str),
            status=RunStatus(found["status"]),
            published_snapshot_id=check_optional(found["published_snapshot_id"], str),
            created_at=moment,
            updated_at=moment,
            actor_id=check_optional(found["actor_id"], str),
        )
