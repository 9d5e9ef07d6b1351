"""Lance's own branches and tags, with its traps closed.

Always: names that Lance refuses, or takes and then cannot list, are refused before anything is
written; "exists" and "unknown" are typed errors; listing survives a branch that is deleted
meanwhile. A name should be used once: ``unique_branch_name`` makes one that was never there, and
the graph layer uses no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
from lance import LanceDataset

from omnigraph_l1._durable import sync_files, sync_with_parents
from omnigraph_l1._events import timed
from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_border, lance_calls
from omnigraph_l1._table.branch_identity import names_of_branches, read_branch_identity
from omnigraph_l1._table.committing import ready_to_write
from omnigraph_l1._table.objects import storage_border
from omnigraph_l1._table.outcomes import failed_write_error
from omnigraph_l1._table.pinned import Pinned, lineage_directory
from omnigraph_l1._text import is_text, readable
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1._versions import check_version_store, forget_branch
from omnigraph_l1.errors import (
    BranchExists,
    InvalidName,
    InvalidRequest,
    L1Error,
    StaleBranch,
    StorageError,
    TagExists,
    UnknownBranch,
    UnknownTag,
    UnknownVersion,
)

__all__ = [
    "BranchInfo",
    "TagInfo",
    "create_tag",
    "delete_branch",
    "delete_tag",
    "fork",
    "has_branch",
    "list_branches",
    "list_tags",
    "unique_branch_name",
]

_FORKED = declare("l1.fork.made", "the branch is made, but not yet flushed")
_DELETED = declare(
    "versions.branch_removed", "the branch is gone, and its version store has records"
)

_LOOKS = 20
_LONGEST_ESCAPED = 200
_TAKEN = frozenset({Symptom.HALF_MADE_BRANCH, Symptom.DATASET_EXISTS, Symptom.REF_EXISTS})
_NOT_AS_EXPECTED = frozenset({Symptom.VERSION_MISSING, Symptom.MISSING, Symptom.TORN})
_BRANCH_SEGMENT = re.compile(r"[\w.\-]+")
_TAG = re.compile(r"[A-Za-z0-9._\-]+")
_BRANCH_RULE = (
    "it is made of letters, digits, '.', '-' and '_', in segments split by '/', of which the first "
    "is not 'main', has no '..', no segment is '.' or ends in '.lock', and it is short enough for "
    "a file name once its letters beyond ASCII are escaped"
)
_TAG_RULE = "it is made of ASCII letters, digits, '.', '-' and '_', and has no '..' or '.lock'"


@attrs.frozen(kw_only=True)
class BranchInfo:
    """A native branch."""

    name: str
    parent_branch: str | None
    parent_version: int
    created_at: datetime


@attrs.frozen(kw_only=True)
class TagInfo:
    """A native tag: a name for a version of a lineage."""

    name: str
    branch: str | None
    version: int


def unique_branch_name(name: str) -> str:
    """Make a native branch name that was never used."""
    return _checked_branch(f"{_checked_branch(name)}.{new_ulid().lower()}")


def fork(pinned: Pinned, name: str, *, fresh: bool) -> Pinned:
    """Start a branch at the pinned version. No data is copied.

    ``fresh`` is the caller's word that nobody else ever makes a branch of this name. Then one that
    exists after all is one's own, whose reply was lost.
    """
    _checked_branch(name)
    ready_to_write(pinned)
    place = pinned.place
    with timed("fork", place=str(place), branch=name, start=pinned.version):
        try:
            with lance_calls():
                dataset = pinned.apart().create_branch(
                    name,
                    (pinned.branch, pinned.version),
                    storage_options=pinned.storage.lance_options,
                )
        except LanceFailure as failure:
            if not (fresh and _is_listed(pinned, name)):
                raise _fork_error(pinned, name, failure) from failure.cause
            with lance_border(place):
                dataset = pinned.dataset.checkout_version((name, None))
    failpoint(_FORKED)
    if pinned.flushes:
        _flush_branch(pinned, name)
    if dataset.version != pinned.version:
        # Two processes that create one name at once are both told that they made it.
        reason = f"starts at version {dataset.version}, not at {pinned.version}: another made it"
        raise StaleBranch(place=str(place), branch=name, reason=reason)
    identity = read_branch_identity(pinned.storage, name)
    return attrs.evolve(pinned, dataset=dataset, branch=name, branch_identity=identity)


def _fork_error(pinned: Pinned, name: str, failure: LanceFailure) -> L1Error:
    place = str(pinned.place)
    # Lance looks for the version in what is there of the new branch, and tells of that.
    looked_for = failure.symptom in _NOT_AS_EXPECTED
    in_the_way = looked_for and f"/tree/{name}/_versions/" in failure.words
    if failure.symptom is Symptom.COMMIT_UNKNOWN and pinned.storage.version_store is not None:
        in_the_way = not _is_listed(pinned, name)  # what a deleted one left in the version store
    if in_the_way or failure.symptom in _TAKEN:
        return BranchExists(place=place, branch=name, listed=_is_listed(pinned, name))
    if failure.symptom is Symptom.VERSION_MISSING:
        return UnknownVersion(place=place, branch=pinned.branch, version=pinned.version)
    return failed_write_error(pinned, failure, name)


def list_branches(pinned: Pinned) -> dict[str, BranchInfo]:
    """List the native branches, by name."""
    found = _listing(pinned, lambda dataset: dataset.branches.list())
    return {
        name: BranchInfo(
            name=name,
            parent_branch=record["parent_branch"],
            parent_version=record["parent_version"],
            created_at=datetime.fromtimestamp(record["create_at"], timezone.utc),
        )
        for name, record in sorted(found.items())
    }


def branch_names(pinned: Pinned) -> list[str]:
    """Name the native branches. What they are is not read."""
    pinned.guard.check()
    return names_of_branches(pinned.storage)


def has_branch(pinned: Pinned, name: str) -> bool:
    """Tell whether there is a native branch of that name."""
    pinned.guard.check()
    return _is_listed(pinned, _checked_branch(name))


def delete_branch(pinned: Pinned, name: str) -> None:
    """Delete a native branch and what only it has. Handles on it will refuse to write."""
    _checked_branch(name)
    pinned.refuse_stale()
    check_version_store(pinned.dataset, pinned.storage)
    try:
        with lance_calls():
            pinned.apart().branches.delete(name)
    except LanceFailure as failure:
        if failure.symptom in {Symptom.REF_MISSING, Symptom.MISSING}:
            raise UnknownBranch(place=str(pinned.place), branch=name) from failure.cause
        if failure.symptom is Symptom.REF_EXISTS:
            reason = f"branch {name!r} has branches of its own; delete those first"
            raise InvalidRequest(place=str(pinned.place), reason=reason) from failure.cause
        raise failure.at(pinned.place) from failure.cause
    if pinned.storage.version_store is not None:
        failpoint(_DELETED)
        forget_branch(pinned.storage, name)


def create_tag(pinned: Pinned, name: str) -> TagInfo:
    """Name the pinned version. Lance's own cleaning spares tagged versions."""
    # Lance takes other letters, and can then never list its tags again.
    sound = is_text(name) and _TAG.fullmatch(name) and not name.endswith(".lock")
    if not sound or ".." in name:
        raise InvalidName(what="tag", name=readable(name), rule=_TAG_RULE)
    ready_to_write(pinned)
    try:
        with lance_calls():
            pinned.apart().tags.create(name, (pinned.branch, pinned.version))
    except LanceFailure as failure:
        if failure.symptom is Symptom.REF_EXISTS:
            raise TagExists(place=str(pinned.place), tag=name) from failure.cause
        raise failed_write_error(pinned, failure, name) from failure.cause
    if pinned.flushes:
        _flush_record(pinned, "tags", name)
    return TagInfo(name=name, branch=pinned.branch, version=pinned.version)


def list_tags(pinned: Pinned) -> dict[str, TagInfo]:
    """List the native tags, by name."""
    found = _listing(pinned, lambda dataset: dataset.tags.list())
    return {
        name: TagInfo(name=name, branch=record.get("branch"), version=record["version"])
        for name, record in sorted(found.items())
    }


def delete_tag(pinned: Pinned, name: str) -> None:
    """Delete a native tag."""
    if not is_text(name) or not _BRANCH_SEGMENT.fullmatch(name) or ".." in name:
        raise InvalidName(what="tag", name=readable(name), rule=_TAG_RULE)
    pinned.refuse_stale()
    check_version_store(pinned.dataset, pinned.storage)
    try:
        with lance_calls():
            pinned.apart().tags.delete(name)
    except LanceFailure as failure:
        if failure.symptom in {Symptom.REF_MISSING, Symptom.MISSING}:
            raise UnknownTag(place=str(pinned.place), tag=name) from failure.cause
        raise failure.at(pinned.place) from failure.cause


def _listing(
    pinned: Pinned, look: Callable[[LanceDataset], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """List; look again where a ref vanished between its listing and its reading."""
    pinned.guard.check()
    last: LanceFailure | None = None
    for _ in range(_LOOKS):
        try:
            with lance_calls():
                return look(pinned.dataset)
        except LanceFailure as failure:
            if failure.symptom not in {Symptom.MISSING, Symptom.REF_MISSING}:
                raise failure.at(pinned.place) from failure.cause
            last = failure
    detail = f"refs were deleted during each of {_LOOKS} listings"
    raise StorageError(place=str(pinned.place), detail=detail) from last


def _is_listed(pinned: Pinned, name: str) -> bool:
    try:
        read_branch_identity(pinned.storage, name)
    except UnknownBranch:
        return False
    return True


def _is_below_main(segments: Sequence[str]) -> bool:
    """Tell a name like ``main/x``: deleting such a branch, Lance deletes the whole dataset."""
    return segments[0] == "main"


def _checked_branch(name: str) -> str:
    if not is_text(name):
        raise InvalidName(what="branch", name=readable(name), rule=_BRANCH_RULE)
    segments = name.split("/")
    sound = all(
        _BRANCH_SEGMENT.fullmatch(segment) and segment != "." and not segment.endswith(".lock")
        for segment in segments
    )
    # Lance escapes a name twice while it writes the record. One that is too long fails after the
    # fork is made, which can then be neither listed nor made again.
    too_long = len(quote(quote(name, safe=""), safe="")) > _LONGEST_ESCAPED
    if not sound or too_long or ".." in name or _is_below_main(segments):
        raise InvalidName(what="branch", name=name, rule=_BRANCH_RULE)
    return name


def _flush_branch(pinned: Pinned, name: str) -> None:
    directory = lineage_directory(pinned.place, name)
    with storage_border(pinned.place), suppress(FileNotFoundError):  # others delete it
        # Others, who make the same one, have files there for a moment.
        sync_files((path for path in directory.rglob("*") if path.is_file()), missing_ok=True)
        sync_with_parents(directory / "_versions", pinned.place.local_path)
    _flush_record(pinned, "branches", name)


def _flush_record(pinned: Pinned, kind: str, name: str) -> None:
    root = pinned.place.local_path
    record = root / Path("_refs", kind) / f"{quote(name, safe='')}.json"
    with storage_border(pinned.place), suppress(FileNotFoundError):  # others delete it
        sync_files([record])
        sync_with_parents(record.parent, root)
