"""Tag records: ``_refs/tags/<name>.json`` names a commit and where it is.

Invariant: one conditional write creates a tag, another one deletes it, and it never changes. The
document contains everything that is needed to open the commit, without the log or the branch.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import attrs

from omnigraph_l1 import JsonRefs, Ref
from omnigraph_l1.errors import InvalidName, RefChanged, RefExists, RefNotFound
from omnigraph_l2._model.repository_layout import MANIFEST, TAG_REFS
from omnigraph_l2._store.ref_documents import (
    DOCUMENT_FORMAT,
    check_number,
    check_optional,
    check_type,
    parse_time,
    reading_document,
)
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import UnknownTag

__all__ = ["Tag", "TagRecords"]


@attrs.frozen(kw_only=True)
class Tag:
    """A name for a commit. The data of the commit is kept as long as the tag exists."""

    name: str
    graph_commit_id: str
    branch: str
    """The branch that the commit was found on, by the name of that time."""
    native_branch: str | None
    """The Lance branch of the catalog that the commit is on; None is main."""
    manifest_version: int
    """The version of the catalog that shows it."""
    sequence: int | None
    """Its place among the commits of the branch; None where the catalog does not number it."""
    actor_id: str | None = None
    message: str | None = None
    created_at: datetime


@attrs.frozen
class TagRecords:
    """The stored tags of a repository."""

    _root: RepositoryRoot

    def get(self, name: Any) -> Tag | None:
        """Read a tag; None where there is none of that name."""
        ref = self._ref(name)
        return None if ref is None else _parse(ref, self._root.location)

    def list(self) -> list[Tag]:
        """Read all tags, by name."""
        return [_parse(ref, self._root.location) for ref in self._refs.list()]

    def create(self, tag: Tag) -> bool:
        """Create a tag; return False if there is one of that name."""
        try:
            self._refs.create(tag.name, _write_document(tag))
        except RefExists:
            return False
        return True

    def delete(self, name: Any, made: Tag | None = None) -> bool:
        """Delete a tag, readable or not, or only a certain one; return False if there is none."""
        while True:
            ref = self._ref(name)
            if ref is None or (made is not None and _parse(ref, self._root.location) != made):
                return False
            try:
                self._refs.delete(ref)
            except RefChanged:
                continue
            except RefNotFound:
                return False
            return True

    def unknown_tag(self, name: Any) -> UnknownTag:
        """Return the error for a tag that is not there; raise where a DynamoDB table has it."""
        self._root.open(MANIFEST).check_version_store()
        return UnknownTag(
            location=self._root.location, tag=name if isinstance(name, str) else repr(name)
        )

    def _ref(self, name: Any) -> Ref | None:
        try:
            return self._refs.get(name) if isinstance(name, str) else None
        except InvalidName:
            return None

    @property
    def _refs(self) -> JsonRefs:
        return self._root.refs(TAG_REFS)


def _write_document(tag: Tag) -> dict[str, Any]:
    return {
        "format": DOCUMENT_FORMAT,
        **attrs.asdict(tag),
        "created_at": tag.created_at.isoformat(),
    }


def _parse(ref: Ref, location: str) -> Tag:
    found = ref.value
    with reading_document(found, item=f"tag {ref.name}", location=location):
        return Tag(
            name=ref.name,
            graph_commit_id=check_type(found["graph_commit_id"], str),
            branch=check_type(found["branch"], str),
            native_branch=check_optional(found["native_branch"], str),
            manifest_version=check_number(found["manifest_version"]),
            sequence=None if found["sequence"] is None else check_number(found["sequence"]),
            actor_id=check_optional(found["actor_id"], str),
            message=check_optional(found["message"], str),
            created_at=parse_time(check_type(found["created_at"], str)),
        )
