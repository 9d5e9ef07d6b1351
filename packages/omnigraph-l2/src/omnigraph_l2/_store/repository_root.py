"""The root of a repository: whether it may be written, open dataset handles, ids in data files.

Invariant: handles never move, so that a cached one is as good as a new one. Ids of a data file stay
correct, because a data file never changes; it still holds rows that were deleted later, so a caller
that finds an id asks the table whether the row is alive. No handle works in a forked child process.
The caches are bounded.

A repository is only read if the original program, or Lance itself, changes it too
(``check_writable``, ``refuse_auto_cleanup``). The original program notices a commit of ours only
through the log, which may be late, and its publishes then overwrite it. Datasets with
``lance.auto_cleanup.*`` in their config lose versions on any commit, also versions that branches,
tags and leases need.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from itertools import compress
from typing import Any, Final, TypeVar

import attrs
import pyarrow as pa

from omnigraph_l1 import Caches, Durability, JsonRefs, Storage, Table, first_names, read_object
from omnigraph_l1.errors import CorruptDataset, NotFound
from omnigraph_l2._model.repository_layout import (
    BRANCH_REFS,
    LOG_DATASETS,
    MANIFEST,
    SCHEMA_LOCK_BRANCH,
)
from omnigraph_l2.errors import (
    ForeignRepository,
    SchemaChangeInProgress,
    TransactionClosed,
    UsedAfterFork,
)

__all__ = [
    "KnownIds",
    "RepositoryRoot",
    "check_writable",
    "find_schema_files",
    "refuse_auto_cleanup",
]

_MOST_BYTES = 4 * 1024 * 1024
_BYTES_OF_AN_ENTRY = 2_048
"""What it takes to remember a file, however few its ids are."""
_MOST_IN_ONE_FILE = 8_192


@attrs.define(eq=False)
class KnownIds:
    """The ids of small data files, by the path of the file. The least recently used are dropped."""

    _ids: OrderedDict[tuple[str, str], pa.Array] = attrs.field(
        factory=OrderedDict, init=False, repr=False
    )
    _bytes: int = attrs.field(default=0, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def get(self, location: str, file: str) -> pa.Array | None:
        """Return the ids in a file of the dataset at a path; None if they are not known."""
        with self._lock:
            found = self._ids.get((location, file))
            if found is not None:
                self._ids.move_to_end((location, file))
            return found

    def put(self, location: str, file: str, ids: pa.Array) -> None:
        """Remember the ids in a file, unless there are many."""
        if len(ids) > _MOST_IN_ONE_FILE:
            return
        with self._lock:
            before = self._ids.pop((location, file), None)
            self._bytes -= 0 if before is None else _size(before)
            self._ids[location, file] = ids
            self._bytes += _size(ids)
            while self._bytes > _MOST_BYTES:
                _, gone = self._ids.popitem(last=False)
                self._bytes -= _size(gone)


def _size(ids: pa.Array) -> int:
    return int(ids.nbytes) + _BYTES_OF_AN_ENTRY


_HANDLES = 512
_AT_ONCE = 8
_LOOK_AGAIN_SECONDS = 2.0
_NAMES = 16

_A = TypeVar("_A")
_B = TypeVar("_B")

_is_within_call: ContextVar[bool] = ContextVar("_is_within_call", default=False)
"""Whether this code runs in a thread of ``at_once``, where it must not wait for another one."""


def _call_within(work: Callable[[_A], _B], item: _A) -> _B:
    _is_within_call.set(True)
    return work(item)


@attrs.define(eq=False)
class RepositoryRoot:
    """The location of a repository, the durability of its commits, and its open handles."""

    storage: Storage
    durability: Durability
    _handles: OrderedDict[tuple[str, str | None], Table] = attrs.field(
        factory=OrderedDict, init=False, repr=False
    )
    known_ids: KnownIds = attrs.field(factory=KnownIds, init=False, repr=False)
    _caches: Caches | None = attrs.field(default=None, init=False, repr=False)
    closed: bool = attrs.field(default=False, init=False, repr=False)
    """Whether the repository handle was closed. Snapshots can still be read then."""
    _process: int = attrs.field(factory=os.getpid, init=False, repr=False)
    writable_at: float | None = attrs.field(default=None, init=False, repr=False)
    """When ``check_writable`` has last passed; None if it has not."""
    checked_heads: set[tuple[str, str | None]] = attrs.field(factory=set, init=False, repr=False)
    """The lineages of tables whose heads were checked for ``lance.auto_cleanup.*``."""
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _workers: ThreadPoolExecutor | None = attrs.field(default=None, init=False, repr=False)

    def without_caches(self) -> RepositoryRoot:
        """Return the same root without caches, so that everything is read from the store."""
        fresh = RepositoryRoot(self.storage, self.durability)
        fresh._caches = Caches()
        return fresh

    @property
    def location(self) -> str:
        """The location of the repository, as messages show it."""
        return str(self.storage.location)

    def child(self, path: str) -> Storage:
        """Return the storage of something below the root."""
        return self.storage.child(path)

    def refs(self, directory: str, *, reuse_names: bool = True) -> JsonRefs:
        """Return the refs in a directory below the root."""
        return JsonRefs.open(
            self.storage, directory, durability=self.durability.value, reuse_names=reuse_names
        )

    def create(self, path: str, schema: pa.Schema, config: dict[str, str] | None = None) -> Table:
        """Create an empty dataset."""
        table = Table.create(self.child(path), schema, config=config, durability=self.durability)
        return self.remember(path, table)

    def open(self, path: str, *, branch: str | None = None, version: int | None = None) -> Table:
        """Open a lineage of a dataset, at a version or at its head."""
        with self._lock:
            warm = self._handles.get((path, branch))
        if warm is not None:
            table = warm.refresh() if version is None else warm
            if version is not None and table.version != version:
                table = warm.at(version)
        else:
            table = Table.open(
                self.child(path),
                branch=branch,
                version=version,
                durability=self.durability,
                caches=self._caches,
            )
        return self.remember(path, table)

    def remember(self, path: str, table: Table) -> Table:
        """Cache a handle."""
        with self._lock:
            self._handles[path, table.branch] = table
            self._handles.move_to_end((path, table.branch))
            while len(self._handles) > _HANDLES:
                self._handles.popitem(last=False)
        return table

    def forget(self, path: str, branch: str | None) -> None:
        """Drop the handle of a branch that was deleted."""
        with self._lock:
            self._handles.pop((path, branch), None)

    def first_names(self, path: str = "") -> list[str]:
        """Return the names at the root or in a folder below it, or only the first of them."""
        return list(first_names(self.child(path) if path else self.storage, _NAMES))

    def at_once(self, work: Callable[[_A], _B], items: Iterable[_A]) -> list[_B]:
        """Call a function for several values at the same time; raise the first failure.

        All calls have ended when it returns. Within such a call others are made one by one.
        """
        listed = list(items)
        if len(listed) <= 1 or _is_within_call.get():
            return [work(item) for item in listed]
        with self._lock:
            if self._workers is None and not self.closed:
                self._workers = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="omnigraph")
            if self._workers is None:
                futures = None
            else:
                submit = self._workers.submit
                futures = [submit(copy_context().run, _call_within, work, i) for i in listed]
        if futures is None:  # the handle was closed, perhaps by another thread just now
            return [work(item) for item in listed]
        failures = [failure for future in futures if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]

    @property
    def is_durable(self) -> bool:
        """Whether what this handle publishes survives a power cut: stores see to it themselves."""
        return self.durability is Durability.FULL or not self.storage.location.is_local

    @property
    def is_forked(self) -> bool:
        """Whether this is a forked child, and the handle is its parent's."""
        return os.getpid() != self._process

    def check_process(self) -> None:
        """Raise ``UsedAfterFork`` in a forked child."""
        if self.is_forked:
            what = "The repository handle"
            raise UsedAfterFork(what=what, made_in=self._process, used_in=os.getpid())

    def check_open(self) -> None:
        """Raise if the repository handle was closed, or is that of the parent process."""
        self.check_process()
        if self.closed:
            raise TransactionClosed(what="repository handle", state="closed")

    def close(self) -> None:
        """Release handles and threads."""
        with self._lock:
            self.closed = True
            self._handles.clear()
            workers, self._workers = self._workers, None
        if workers is not None:
            workers.shutdown()


_SCHEMA_FILES: Final = ("_schema.pg", "_schema.ir.json", "__schema_state.json")
"""Where the original program keeps the schema. It opens no repository without them."""
_SCHEMA_LOCK: Final = f"{MANIFEST}/_refs/branches/{SCHEMA_LOCK_BRANCH}.json"
"""The branch of the catalog by which it says that it changes the schema, as Lance keeps it."""
_AUTO_CLEANUP: Final = "lance.auto_cleanup."
_DATASET: Final = re.compile(r"(?P<root>.*?)/(?P<path>(?:(?:nodes|edges)/)?[^/]+)")


def check_writable(root: RepositoryRoot) -> None:
    """Raise if the repository must not be written to now.

    A file or a branch of the original program may come at any time, so this looks for them each
    time; in a store, where that costs requests, at most every two seconds. The datasets of the log
    and of the runs are looked at once for each handle, tables when they are written to; that the
    store honours conditional writes is tried out once, too.
    """
    now = time.monotonic()
    if root.writable_at is None:
        _refuse_foreign_logs(root)
    elif not root.storage.location.is_local and now - root.writable_at < _LOOK_AGAIN_SECONDS:
        return
    names = (*_SCHEMA_FILES, _SCHEMA_LOCK)
    manifest, *there = _look_up(root, [partial(root.open, MANIFEST), *_looks(root, names)])
    *files, is_locked = there
    datasets = (MANIFEST,) if _has_auto_cleanup(manifest) else ()
    if any(files) or datasets:
        found = tuple(compress(_SCHEMA_FILES, files))
        raise ForeignRepository(location=root.location, files=found, datasets=datasets)
    if is_locked:
        raise SchemaChangeInProgress(location=root.location)
    if root.writable_at is None:
        root.refs(BRANCH_REFS).probe_once()
    root.writable_at = now


def _looks(root: RepositoryRoot, names: Iterable[str]) -> list[Callable[[], bool]]:
    """Return, for each file, a function that says whether it is there."""
    return [partial(_has_file, root, name) for name in names]


def _has_file(root: RepositoryRoot, name: str) -> bool:
    return read_object(root.storage, name) is not None


def _look_up(root: RepositoryRoot, looks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Call functions that look at the repository: at once where each of them is a request."""
    if root.storage.location.is_local:
        return [look() for look in looks]
    return root.at_once(lambda look: look(), looks)


def _refuse_foreign_logs(root: RepositoryRoot) -> None:
    """Raise if Lance would delete versions of a dataset that follows each publish."""

    def has_auto_cleanup(path: str) -> bool:
        try:
            return _has_auto_cleanup(root.open(path))
        except (NotFound, CorruptDataset):
            return False  # another publisher made none; what is damaged is reported on use

    found = root.at_once(has_auto_cleanup, LOG_DATASETS)
    datasets = tuple(path for path, is_so in zip(LOG_DATASETS, found, strict=True) if is_so)
    if datasets:
        files = find_schema_files(root)
        raise ForeignRepository(location=root.location, files=files, datasets=datasets)


def find_schema_files(root: RepositoryRoot) -> tuple[str, ...]:
    """Return the names of the original program's schema files that a repository has."""
    return tuple(compress(_SCHEMA_FILES, _look_up(root, _looks(root, _SCHEMA_FILES))))


def refuse_auto_cleanup(table: Table) -> Table:
    """Return the table, or raise if Lance would delete versions of it on a commit."""
    if _has_auto_cleanup(table):
        location = str(table.location)
        found = _DATASET.fullmatch(location)
        root, path = (location, location) if found is None else (found["root"], found["path"])
        raise ForeignRepository(location=root, files=(), datasets=(path,))
    return table


def _has_auto_cleanup(table: Table) -> bool:
    return any(name.startswith(_AUTO_CLEANUP) for name in table.config)
