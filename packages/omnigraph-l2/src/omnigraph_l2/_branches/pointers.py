"""Branch pointers: ``_refs/branches/<name>.json`` says what the name of a branch means.

Always: a pointer never runs ahead of what is published, and never moves back; a crash may leave it
behind, and the next writer completes it. The head that counts is the catalog's.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

import attrs

from omnigraph_l1 import JsonRefs, Ref
from omnigraph_l1.errors import RefChanged, RefExists, RefNotFound
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import BRANCH_REFS
from omnigraph_l2.errors import CorruptRepository

__all__ = ["MAIN", "Pointer", "Pointers"]

MAIN = "main"
_FORMAT = 1
_KEPT = 1_024
"""Pointers that are read once only, as long as they stay as they are."""


@attrs.frozen(kw_only=True)
class Pointer:
    """What the name of a branch means."""

    name: str
    native_branch: str | None
    """The Lance branch of the catalog; None for main."""
    parent_branch: str | None
    parent_manifest_version: int | None
    manifest_version: int
    """The head, or a version before it where a writer died."""
    head_commit_id: str | None
    created_at: datetime
    updated_at: datetime


@attrs.define(eq=False)
class Pointers:
    """The pointers of a repository."""

    _root: Root
    _clock: Callable[[], datetime]
    _seen: dict[str, Ref] = attrs.field(factory=dict, init=False, repr=False)
    _probed: bool = attrs.field(default=False, init=False, repr=False)
    _refs: JsonRefs = attrs.field(init=False, repr=False)

    @_refs.default
    def _opened(self) -> JsonRefs:
        return self._root.refs(BRANCH_REFS)

    def get(self, name: str) -> Pointer | None:
        """Read a pointer; None where there is none of that name."""
        ref = self._refs.get(name)
        return None if ref is None else _parsed(ref, self._root.place)

    def list(self) -> list[Pointer]:
        """Read all pointers, by name."""
        return [_parsed(ref, self._root.place) for ref in self._refs.list()]

    def create(self, pointer: Pointer) -> bool:
        """Make a pointer where there is none; False where there is one."""
        try:
            self._seen[pointer.name] = self._refs.create(pointer.name, _written(pointer))
        except RefExists:
            return False
        return True

    def delete(self, name: str, native_branch: str | None) -> bool:
        """Remove a pointer that still means this native branch; False where it does not."""
        while True:
            ref = self._refs.get(name)
            if ref is None or _parsed(ref, self._root.place).native_branch != native_branch:
                return False
            try:
                self._refs.delete(ref)
            except RefChanged:
                continue
            except RefNotFound:
                return False
            return True

    def advance(
        self, name: str, native_branch: str | None, version: int, commit_id: str | None
    ) -> None:
        """Move a pointer on to a head, unless it is there or further already, or is gone."""
        ref = self._seen.get(name) or self._refs.get(name)
        while ref is not None:
            pointer = _parsed(ref, self._root.place)
            head = (pointer.manifest_version, pointer.head_commit_id)
            if (
                pointer.native_branch != native_branch
                or pointer.manifest_version > version
                or head == (version, commit_id)
            ):
                self._seen[name] = ref
                return
            moved = attrs.evolve(
                pointer,
                manifest_version=version,
                head_commit_id=commit_id,
                updated_at=self._clock(),
            )
            try:
                self._seen[name] = self._refs.replace(ref, _written(moved))
            except RefChanged:
                ref = self._refs.get(name)
            except RefNotFound:
                self._seen.pop(name, None)
                return
            else:
                return

    def probe(self) -> None:
        """Refuse a store that ignores conditional writes."""
        self._refs.probe()
        self._probed = True

    def probe_once(self) -> None:
        """Do the same, unless it was done."""
        if not self._probed:
            self.probe()


def _written(pointer: Pointer) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "name": pointer.name,
        "native_branch": pointer.native_branch,
        "parent_branch": pointer.parent_branch,
        "parent_manifest_version": pointer.parent_manifest_version,
        "manifest_version": pointer.manifest_version,
        "head_commit_id": pointer.head_commit_id,
        "created_at": pointer.created_at.isoformat(),
        "updated_at": pointer.updated_at.isoformat(),
    }


@lru_cache(_KEPT)
def _parsed(ref: Ref, place: str) -> Pointer:
    found = ref.value
    try:
        if found["format"] != _FORMAT:
            detail = f"its format is {found['format']!r}, known is {_FORMAT}"
            raise CorruptRepository(place=place, item=f"branch {ref.name}", detail=detail)
        return Pointer(
            name=ref.name,
            native_branch=found["native_branch"],
            parent_branch=found["parent_branch"],
            parent_manifest_version=found["parent_manifest_version"],
            manifest_version=int(found["manifest_version"]),
            head_commit_id=found["head_commit_id"],
            created_at=_moment(found["created_at"]),
            updated_at=_moment(found["updated_at"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        detail = f"the pointer cannot be read ({type(error).__name__}: {error})"
        raise CorruptRepository(place=place, item=f"branch {ref.name}", detail=detail) from error


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
