"""Tags as they are stored: ``_refs/tags/<name>.json`` names a commit and where it is.

Always: a tag is made by one conditional write and never changes; it goes by another. Everything
that opens the commit again is in the document, so that neither the log nor the branch is needed.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, TypeVar

import attrs

from omnigraph_l1 import JsonRefs, Ref
from omnigraph_l1.errors import InvalidName, RefChanged, RefExists, RefNotFound
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST, TAG_REFS
from omnigraph_l2.errors import CorruptRepository, UnknownTag

__all__ = ["Tag", "TagRefs"]

_FORMAT = 1

_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class Tag:
    """A name for a commit. The data of the commit stays as long as the tag is there."""

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
class TagRefs:
    """The tags of a repository, as they are stored."""

    _root: Root

    def get(self, name: Any) -> Tag | None:
        """Read a tag; None where there is none of that name."""
        ref = self._ref(name)
        return None if ref is None else _parsed(ref, self._root.place)

    def list(self) -> list[Tag]:
        """Read all tags, by name."""
        return [_parsed(ref, self._root.place) for ref in self._refs.list()]

    def create(self, tag: Tag) -> bool:
        """Make a tag; False where there is one of that name."""
        try:
            self._refs.create(tag.name, _written(tag))
        except RefExists:
            return False
        return True

    def delete(self, name: Any, made: Tag | None = None) -> bool:
        """Remove a tag, readable or not, or only a certain one; False where it is not there."""
        while True:
            ref = self._ref(name)
            if ref is None or (made is not None and _parsed(ref, self._root.place) != made):
                return False
            try:
                self._refs.delete(ref)
            except RefChanged:
                continue
            except RefNotFound:
                return False
            return True

    def unknown(self, name: Any) -> UnknownTag:
        """Give the error for a tag that is not there; raise where another version store has it."""
        self._root.open(MANIFEST).check_version_store()
        return UnknownTag(place=self._root.place, tag=name if isinstance(name, str) else repr(name))

    def _ref(self, name: Any) -> Ref | None:
        try:
            return self._refs.get(name) if isinstance(name, str) else None
        except InvalidName:
            return None

    @property
    def _refs(self) -> JsonRefs:
        return self._root.refs(TAG_REFS)


def _written(tag: Tag) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        **attrs.asdict(tag),
        "created_at": tag.created_at.isoformat(),
    }


def _parsed(ref: Ref, place: str) -> Tag:
    try:
        found = ref.value
        if found["format"] != _FORMAT:
            detail = f"its format is {found['format']!r}, known is {_FORMAT}"
            raise CorruptRepository(place=place, item=f"tag {ref.name}", detail=detail)
        moment = datetime.fromisoformat(_typed(found["created_at"], str))
        return Tag(
            name=ref.name,
            graph_commit_id=_typed(found["graph_commit_id"], str),
            branch=_typed(found["branch"], str),
            native_branch=_optional(found["native_branch"], str),
            manifest_version=_typed(found["manifest_version"], int),
            sequence=_optional(found["sequence"], int),
            actor_id=_optional(found["actor_id"], str),
            message=_optional(found["message"], str),
            created_at=moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc),
        )
    except (KeyError, TypeError, ValueError) as error:
        detail = f"the tag cannot be read ({type(error).__name__}: {error})"
        raise CorruptRepository(place=place, item=f"tag {ref.name}", detail=detail) from error


def _typed(value: Any, kind: type[_T]) -> _T:
    if not isinstance(value, kind) or isinstance(value, bool):
        problem = f"{value!r} is no {kind.__name__}"
        raise TypeError(problem)
    return value


def _optional(value: Any, kind: type[_T]) -> _T | None:
    return None if value is None else _typed(value, kind)
