"""The root of a repository, and the dataset handles that are kept warm below it.

Always: handles never move, so that a cached one is as good as a new one. No handle works in a
forked child. The cache is bounded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import attrs
import pyarrow as pa

from omnigraph_l1 import Caches, Durability, JsonRefs, Storage, Table, first_names, read_object
from omnigraph_l2._storage.known_ids import KnownIds
from omnigraph_l2.errors import TransactionClosed

__all__ = ["Root"]

_HANDLES = 512
_AT_ONCE = 8
_NAMES = 16

_A = TypeVar("_A")
_B = TypeVar("_B")


@attrs.define(eq=False)
class Root:
    """Where the repository is, how durable its commits are, and what is open."""

    storage: Storage
    durability: Durability
    _handles: OrderedDict[tuple[str, str | None], Table] = attrs.field(
        factory=OrderedDict, init=False, repr=False
    )
    known_ids: KnownIds = attrs.field(factory=KnownIds, init=False, repr=False)
    _caches: Caches | None = attrs.field(default=None, init=False, repr=False)
    closed: bool = attrs.field(default=False, init=False, repr=False)
    """Whether the repository handle was closed. Snapshots can still be read then."""
    _files: dict[str, bool] = attrs.field(factory=dict, init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _workers: ThreadPoolExecutor | None = attrs.field(default=None, init=False, repr=False)

    def anew(self) -> Root:
        """Give the same place to one who has seen nothing of it, and reads what is there."""
        fresh = Root(self.storage, self.durability)
        fresh._caches = Caches()
        return fresh

    @property
    def place(self) -> str:
        """The place, as messages name it."""
        return str(self.storage.place)

    def child(self, path: str) -> Storage:
        """Give the storage of something below the root."""
        return self.storage.child(path)

    def refs(self, directory: str, *, reuse_names: bool = True) -> JsonRefs:
        """Give the refs in a directory below the root."""
        return JsonRefs.open(
            self.storage, directory, durability=self.durability.value, reuse_names=reuse_names
        )

    def create(self, path: str, schema: pa.Schema, config: dict[str, str] | None = None) -> Table:
        """Make an empty dataset."""
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
        """Keep a handle warm."""
        with self._lock:
            self._handles[path, table.branch] = table
            self._handles.move_to_end((path, table.branch))
            while len(self._handles) > _HANDLES:
                self._handles.popitem(last=False)
        return table

    def forget(self, path: str, branch: str | None) -> None:
        """Drop a handle, whose branch is gone."""
        with self._lock:
            self._handles.pop((path, branch), None)

    def first_names(self, path: str = "") -> list[str]:
        """Name what lies at the root, or in a folder below it, or the first of it."""
        return list(first_names(self.child(path) if path else self.storage, _NAMES))

    def holds_file(self, name: str) -> bool:
        """Tell whether a file lies at the root. It is asked once."""
        with self._lock:
            known = self._files.get(name)
        if known is None:
            known = read_object(self.storage, name) is not None
            with self._lock:
                self._files[name] = known
        return known

    def at_once(self, work: Callable[[_A], _B], items: Iterable[_A]) -> list[_B]:
        """Do the same with several things at the same time; the first failure comes out.

        All of them have ended when it returns.
        """
        listed = list(items)
        if len(listed) <= 1:
            return [work(item) for item in listed]
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="omnigraph")
        futures = [self._workers.submit(work, item) for item in listed]
        failures = [failure for future in futures if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]

    def check_open(self) -> None:
        """Refuse to work for a repository handle that was closed."""
        if self.closed:
            raise TransactionClosed(what="repository handle", state="closed")

    def close(self) -> None:
        """Let go of handles and threads."""
        with self._lock:
            self.closed = True
            self._handles.clear()
            workers, self._workers = self._workers, None
        if workers is not None:
            workers.shutdown()
