"""Lance's own branches and tags, with its traps closed.

Invariant: names that Lance refuses, or takes and then cannot list, are refused before anything is
written; "exists" and "unknown" are typed errors; listing survives a branch that is deleted
during it. A name should be used once: ``unique_branch_name`` makes one that was never there, and
the graph layer uses no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
from lance import LanceDataset

from omnigraph_l1._dataset.external_manifest_store import check_version_store
from omnigraph_l1._dataset.pinned_dataset import (
    PinnedDataset,
    lineage_directory,
    list_branch_names,
    read_branch_identity,
)
from omnigraph_l1._events import time_event
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    Symptom,
    recognize_failures,
    translate_errors,
)
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import (
    check_tree,
    list_objects,
    remove_object,
    sync_below,
    sync_files,
    sync_with_parents,
    translate_os_errors,
)
from omnigraph_l1._text_encoding import is_text, new_ulid, readable
from omnigraph_l1._write.table_commit import prepare_to_write, write_error
from omnigraph_l1.deadlines import RetryPolicy
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
from omnigraph_l1.failpoints import declare, failpoint

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

_LISTINGS = RetryPolicy(attempts=20)
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


def fork(pinned: PinnedDataset, name: str, *, fresh: bool) -> PinnedDataset:
    """Start a branch at the pinned version. No data is copied.

    ``fresh`` promises that no other caller ever creates a branch of this name. Then one that
    exists after all is one's own, whose reply was lost.
    """
    _checked_branch(name)
    prepare_to_write(pinned)
    location = pinned.location
    with time_event("fork", location=str(location), branch=name, start=pinned.version):
        try:
            with recognize_failures():
                moving = pinned.copy_handle()
                dataset = run_watched(
                    pinned.storage,
                    lambda: moving.create_branch(
                        name,
                        (pinned.branch, pinned.version),
                        storage_options=pinned.storage.lance_options,
                    ),
                )
        except LanceFailure as failure:
            if not (fresh and _is_listed(pinned, name)):
                raise _fork_error(pinned, name, failure) from failure.cause
            with translate_errors(location):
                dataset = run_watched(
                    pinned.storage, lambda: pinned.dataset.checkout_version((name, None))
                )
    failpoint(_FORKED)
    if pinned.flushes:
        with translate_os_errors(location):
            _flush_branch(pinned, name)
    if dataset.version != pinned.version:
        # Two processes that create one name at once both get a reply that they created it.
        reason = f"starts at version {dataset.version}, not at {pinned.version}: another made it"
        raise StaleBranch(location=str(location), branch=name, reason=reason)
    identity = read_branch_identity(pinned.storage, name)
    return attrs.evolve(pinned, dataset=dataset, branch=name, branch_identity=identity)


def _fork_error(pinned: PinnedDataset, name: str, failure: LanceFailure) -> L1Error:
    location = str(pinned.location)
    # Lance looks for the version in what is there of the new branch, and reports that.
    looked_for = failure.symptom in _NOT_AS_EXPECTED
    in_the_way = looked_for and f"/tree/{name}/_versions/" in failure.words
    if failure.symptom is Symptom.COMMIT_UNKNOWN and pinned.storage.location.dynamodb_table:
        in_the_way = not _is_listed(pinned, name)  # what a deleted one left in the version store
    if in_the_way or failure.symptom in _TAKEN:
        return BranchExists(location=location, branch=name, listed=_is_listed(pinned, name))
    if failure.symptom is Symptom.VERSION_MISSING:
        return UnknownVersion(location=location, branch=pinned.branch, version=pinned.version)
    return write_error(pinned, failure, name)


def list_branches(pinned: PinnedDataset) -> dict[str, BranchInfo]:
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


def branch_names(pinned: PinnedDataset) -> list[str]:
    """Return the names of the native branches, without reading their records."""
    pinned.guard.check()
    return list_branch_names(pinned.storage)


def has_branch(pinned: PinnedDataset, name: str) -> bool:
    """Return whether there is a native branch of that name."""
    pinned.guard.check()
    return _is_listed(pinned, _checked_branch(name))


def delete_branch(pinned: PinnedDataset, name: str) -> None:
    """Delete a native branch and what only it has. Handles on it will refuse to write."""
    _checked_branch(name)
    pinned.check_not_stale()
    check_version_store(pinned)
    if pinned.location.is_local:
        with translate_os_errors(pinned.location):
            check_tree(lineage_directory(pinned.location, name))
    for attempt in _LISTINGS.tries():
        try:
            with recognize_failures():
                branches = pinned.copy_handle().branches
                run_watched(pinned.storage, partial(branches.delete, name))
        except LanceFailure as failure:
            location = str(pinned.location)
            if failure.symptom is Symptom.REF_MISSING and attempt.number == 1:
                raise UnknownBranch(location=location, branch=name) from failure.cause
            if failure.symptom is Symptom.REF_EXISTS:
                reason = f"branch {name!r} has branches of its own; delete those first"
                raise InvalidRequest(location=location, reason=reason) from failure.cause
            if failure.symptom not in {Symptom.MISSING, Symptom.REF_MISSING}:
                raise failure.at(pinned.location) from failure.cause
            # Lance reads the records of all branches, before it removes this one and again before
            # it removes the files. The record of another one vanished between listing and reading.
            if not _is_listed(pinned, name):
                _remove_files(pinned, name)
                return
            if attempt.is_last:
                detail = f"refs were deleted during each of {attempt.number} deletions of {name!r}"
                raise StorageError(location=location, detail=detail) from failure
        else:
            return


def _remove_files(pinned: PinnedDataset, name: str) -> None:
    """Remove the files of a branch that is not listed any more."""
    if any(other.startswith(f"{name}/") for other in list_branch_names(pinned.storage)):
        return  # Lance keeps the files of that one below those of this one
    files = pinned.storage.child(f"tree/{name}")
    for each in list_objects(files):
        remove_object(files, each.name)


def create_tag(pinned: PinnedDataset, name: str) -> TagInfo:
    """Name the pinned version. Lance's own cleaning spares tagged versions."""
    # Lance takes other letters, and can then never list its tags again.
    sound = is_text(name) and _TAG.fullmatch(name) and not name.endswith(".lock")
    if not sound or ".." in name:
        raise InvalidName(what="tag", name=readable(name), rule=_TAG_RULE)
    prepare_to_write(pinned)
    try:
        with recognize_failures():
            tags = pinned.copy_handle().tags
            run_watched(pinned.storage, lambda: tags.create(name, (pinned.branch, pinned.version)))
    except LanceFailure as failure:
        if failure.symptom is Symptom.REF_EXISTS:
            raise TagExists(location=str(pinned.location), tag=name) from failure.cause
        raise write_error(pinned, failure, name) from failure.cause
    if pinned.flushes:
        with translate_os_errors(pinned.location):
            _flush_record(pinned, "tags", name)
    return TagInfo(name=name, branch=pinned.branch, version=pinned.version)


def list_tags(pinned: PinnedDataset) -> dict[str, TagInfo]:
    """List the native tags, by name."""
    found = _listing(pinned, lambda dataset: dataset.tags.list())
    return {
        name: TagInfo(name=name, branch=record.get("branch"), version=record["version"])
        for name, record in sorted(found.items())
    }


def delete_tag(pinned: PinnedDataset, name: str) -> None:
    """Delete a native tag."""
    if not is_text(name) or not _BRANCH_SEGMENT.fullmatch(name) or ".." in name:
        raise InvalidName(what="tag", name=readable(name), rule=_TAG_RULE)
    pinned.check_not_stale()
    check_version_store(pinned)
    try:
        with recognize_failures():
            tags = pinned.copy_handle().tags
            run_watched(pinned.storage, lambda: tags.delete(name))
    except LanceFailure as failure:
        if failure.symptom in {Symptom.REF_MISSING, Symptom.MISSING}:
            raise UnknownTag(location=str(pinned.location), tag=name) from failure.cause
        raise failure.at(pinned.location) from failure.cause


def _listing(
    pinned: PinnedDataset, look: Callable[[LanceDataset], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """List; look again where a ref vanished between its listing and its reading."""
    pinned.guard.check()
    for attempt in _LISTINGS.tries():
        try:
            with recognize_failures():
                return run_watched(pinned.storage, lambda: look(pinned.dataset))
        except LanceFailure as failure:
            if failure.symptom not in {Symptom.MISSING, Symptom.REF_MISSING}:
                raise failure.at(pinned.location) from failure.cause
            if attempt.is_last:
                detail = f"refs were deleted during each of {attempt.number} listings"
                raise StorageError(location=str(pinned.location), detail=detail) from failure
    raise AssertionError


def _is_listed(pinned: PinnedDataset, name: str) -> bool:
    try:
        read_branch_identity(pinned.storage, name)
    except UnknownBranch:
        return False
    return True


def _is_below_main(segments: Sequence[str]) -> bool:
    """Return whether a name is like ``main/x``: Lance deletes the dataset with such a branch."""
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


def _flush_branch(pinned: PinnedDataset, name: str) -> None:
    directory = lineage_directory(pinned.location, name)
    try:
        # Others, who make the same one, have files there for a moment.
        sync_below(directory)
        sync_with_parents(directory / "_versions", pinned.location.local_path)
        _flush_record(pinned, "branches", name)
    except FileNotFoundError as error:
        raise StaleBranch(
            location=str(pinned.location), branch=name, reason="was deleted"
        ) from error


def _flush_record(pinned: PinnedDataset, kind: str, name: str) -> None:
    root = pinned.location.local_path
    record = root / Path("_refs", kind) / f"{quote(name, safe='')}.json"
    sync_files([record])
    sync_with_parents(record.parent, root)
