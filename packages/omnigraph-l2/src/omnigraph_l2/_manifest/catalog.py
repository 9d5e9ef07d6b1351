"""One branch of ``__manifest``, kept up to date in memory.

Always: the state is that of one version of the catalog. Following it reads only fragments that are
new; after a compaction, everything once. It never goes back. It writes only by
``merge_exclusively``, so that a key can be inserted once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

import attrs

from omnigraph_l1 import Commit, Table
from omnigraph_l1.errors import (
    CorruptDataset,
    DatasetNotFound,
    L1Error,
    OutcomeUnknown,
    StaleBranch,
)
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.rows import (
    CREATED,
    MANIFEST_SCHEMA,
    UPDATED,
    ManifestRow,
    rows_from_arrow,
    rows_to_arrow,
)
from omnigraph_l2._catalog.state import CatalogState, empty_state, fold
from omnigraph_l2._manifest.migrations import check, migrate
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST
from omnigraph_l2.errors import OmniGraphError, UnknownBranch

__all__ = ["Catalog", "Loaded", "VersionsRead", "compacted", "followed", "load", "read_rows"]

_READ_LATELY_SECONDS = 3_600.0
_COLUMNS = (*MANIFEST_SCHEMA.names, CREATED, UPDATED)


@attrs.frozen(kw_only=True)
class Loaded:
    """A version of the catalog: the handle on it, and what it says."""

    table: Table
    state: CatalogState
    fragments: frozenset[int]


@attrs.frozen
class VersionsRead:
    """Which versions of a branch of the catalog a handle has read as its head."""

    first: int
    last: int


def load(table: Table, place: str) -> Loaded:
    """Read a version of the catalog as a whole."""
    check(table)
    state = fold(empty_state(place, table.branch), read_rows(table), table.version)
    return Loaded(table=table, state=state, fragments=frozenset(table.fragments()))


def read_rows(table: Table, fragments: Collection[int] | None = None) -> list[ManifestRow]:
    """Read rows of the catalog, of all fragments or of some."""
    return rows_from_arrow(table.read(columns=_COLUMNS, fragments=fragments))


def followed(before: Loaded, table: Table) -> Loaded:
    """Read a later version of the catalog: only what is new in it, where that is possible."""
    if table.version == before.table.version:
        return before
    fragments = frozenset(table.fragments())
    if not before.fragments <= fragments or table.version < before.table.version:
        return load(table, before.state.place)
    check(table)
    rows = read_rows(table, fragments - before.fragments)
    state = fold(before.state, rows, table.version)
    return Loaded(table=table, state=state, fragments=fragments)


def compacted(before: Loaded, commit: Commit) -> Loaded:
    """Follow to what one's own compaction made: the same rows, of which none is read again."""
    if not commit.follows_base:
        return followed(before, commit.table)
    return Loaded(
        table=commit.table,
        state=attrs.evolve(before.state, version=commit.version),
        fragments=frozenset(commit.table.fragments()),
    )


class Catalog:
    """A branch of the catalog. Threads may share it."""

    def __init__(
        self,
        root: Root,
        branch: str | None,
        name: str | None = None,
        *,
        hint: Callable[[], int | None] = lambda: None,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        """``hint`` gives a version at or before the head: from there the head is soon found.

        ``is_gone`` is asked about a branch that looks damaged: it may be being deleted.
        """
        self._root = root
        self._hint = hint
        self._is_gone = is_gone
        self._branch = branch
        self._name = name or branch
        self._lock = threading.RLock()
        self._loaded: Loaded | None = None
        self._read_at = 0.0
        self._first: int | None = None

    @property
    def branch(self) -> str | None:
        """The native branch; None is main."""
        return self._branch

    @property
    def read(self) -> VersionsRead | None:
        """What was read of it so far; None where nothing was for an hour. Waits for nobody."""
        loaded = self._loaded
        if loaded is None or time.monotonic() - self._read_at > _READ_LATELY_SECONDS:
            return None
        last = loaded.table.version
        return VersionsRead(last if self._first is None else min(self._first, last), last)

    def recent(self, seconds: float) -> Loaded:
        """Give what was read within the last seconds, or catch up."""
        with self._lock:
            if self._loaded is not None and time.monotonic() - self._read_at <= seconds:
                return self._loaded
        return self.refresh()

    def refresh(self) -> Loaded:
        """Catch up with what others published."""
        with self._lock, self._while_it_is_there():
            self._read_at = time.monotonic()
            if self._loaded is None:
                first = load(self._open(), self._root.place)
                self._first, self._loaded = first.table.version, first
            else:
                self._loaded = followed(self._loaded, self._loaded.table.refresh())
            return self._loaded

    def migrated(self, loaded: Loaded) -> Loaded:
        """Bring the catalog to our internal schema version, before it is written."""
        with self._while_it_is_there():
            table = migrate(loaded.table)
            if table is loaded.table:
                return loaded
            now = load(table, self._root.place)
            with self._lock:
                self._loaded = now
            return now

    def at(self, version: int) -> Loaded:
        """Read an older version of the catalog."""
        with self._while_it_is_there():
            with self._lock:
                if self._loaded is not None and self._loaded.table.version == version:
                    return self._loaded
                table = self._open() if self._loaded is None else self._loaded.table
            return load(table.at(version), self._root.place)

    def merge(self, before: Loaded, rows: Sequence[ManifestRow], *, write_id: str) -> Loaded:
        """Write rows onto the version for which they were made; raise what L1 raises.

        On a later one, to which another thread may have moved on, a key that somebody else has
        inserted meanwhile would be matched, and their row replaced.
        """
        with self._while_it_is_there():
            commit = before.table.merge_exclusively(
                rows_to_arrow(rows), key="object_id", write_id=write_id
            )
        with self._lock:
            if not commit.follows_base:
                return self._followed_after(write_id, commit.table)
            written = Loaded(
                table=commit.table,
                state=fold(before.state, rows, commit.version),
                fragments=frozenset(commit.table.fragments()),
            )
            if self._loaded is None or self._loaded.table.version < commit.version:
                self._loaded = written
            return written

    def moved_to(self, made: Loaded) -> None:
        """Follow to a version that upkeep made."""
        with self._lock:
            if self._loaded is None or self._loaded.table.version < made.table.version:
                self._loaded = made

    def _followed_after(self, write_id: str, table: Table) -> Loaded:
        """Follow to a version that one's own write made: failing at that is no failure of it."""
        try:
            return self._follow(table)
        except (L1Error, OmniGraphError) as error:
            raise OutcomeUnknown(
                place=str(table.place), write_id=write_id, detail=str(error)
            ) from error

    def _follow(self, table: Table) -> Loaded:
        if self._loaded is None:
            self._loaded = load(table, self._root.place)
        elif table.version > self._loaded.table.version:
            self._loaded = followed(self._loaded, table)
        return self._loaded

    @contextmanager
    def _while_it_is_there(self) -> Iterator[None]:
        """Tell a branch that was deleted, and perhaps created again, as what it is."""
        try:
            yield
        except (DatasetNotFound, StaleBranch, NoSuchBranch) as error:
            if self._name is None:
                raise
            raise UnknownBranch(place=self._root.place, branch=self._name) from error
        except (CorruptDataset, NoSuchVersion) as error:
            if self._name is None or not self._is_gone():
                raise
            raise UnknownBranch(place=self._root.place, branch=self._name) from error

    def _open(self) -> Table:
        place, durability = self._root.child(MANIFEST), self._root.durability
        if self._root.storage.place.is_local:
            # Opening the head lists all versions there ever were; in a store it does not.
            near = self._hint()
            with suppress(NoSuchVersion, CorruptDataset):
                if near is not None:
                    return Table.open(
                        place, branch=self._branch, version=near, durability=durability
                    ).refresh()
        return Table.open(place, branch=self._branch, durability=durability)
