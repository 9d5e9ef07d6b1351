"""One branch of ``__manifest``, kept up to date in memory.

Invariant: the state is that of one version of the catalog, and never goes back. Following it reads
only new fragments; after a compaction, everything once. It is written only by ``cas_merge``, so
that a key can be inserted once.
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
    OutcomeUnknown,
    StaleBranch,
)
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.catalog_state import CatalogState, empty_state, fold
from omnigraph_l2._catalog.manifest_rows import (
    CREATED,
    MANIFEST_SCHEMA,
    UPDATED,
    ManifestRow,
    rows_from_arrow,
    rows_to_arrow,
)
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.migrations import migrate_internal_schema, older_version
from omnigraph_l2._store.repository_root import RepositoryRoot, refuse_auto_cleanup
from omnigraph_l2.errors import OmniGraphError, UnknownBranch

__all__ = [
    "Loaded",
    "ManifestStore",
    "VersionsRead",
    "follow",
    "follow_compaction",
    "load",
    "read_rows",
]

_READ_LATELY_SECONDS = 3_600.0
_COLUMNS = (*MANIFEST_SCHEMA.names, CREATED, UPDATED)


@attrs.frozen(kw_only=True)
class Loaded:
    """One version of the catalog: the table handle and the state."""

    table: Table
    state: CatalogState
    fragments: frozenset[int]
    older_version: int | None
    """Its internal schema version, if that is to be migrated before it is written."""


@attrs.frozen
class VersionsRead:
    """The versions of a branch of the catalog that a handle has read as its head."""

    first: int
    last: int


def load(table: Table, location: str) -> Loaded:
    """Read a version of the catalog completely."""
    version = older_version(table)
    state = fold(empty_state(location, table.branch), read_rows(table), table.version)
    fragments = frozenset(table.fragments())
    return Loaded(table=table, state=state, fragments=fragments, older_version=version)


def read_rows(table: Table, fragments: Collection[int] | None = None) -> list[ManifestRow]:
    """Read rows of the catalog, of all fragments or of some."""
    return rows_from_arrow(table.read(columns=_COLUMNS, fragments=fragments))


def follow(before: Loaded, table: Table) -> Loaded:
    """Read a later version of the catalog: only its new fragments, if that is possible."""
    if table.version == before.table.version:
        return before
    fragments = frozenset(table.fragments())
    if not before.fragments <= fragments or table.version < before.table.version:
        return load(table, before.state.location)
    version = older_version(table)
    rows = read_rows(table, fragments - before.fragments)
    state = fold(before.state, rows, table.version)
    return Loaded(table=table, state=state, fragments=fragments, older_version=version)


def follow_compaction(before: Loaded, commit: Commit) -> Loaded:
    """Move to the version of one's own compaction: its rows are the same and not read again."""
    if not commit.follows_base:
        return follow(before, commit.table)
    return attrs.evolve(
        before,
        table=commit.table,
        state=attrs.evolve(before.state, version=commit.version),
        fragments=frozenset(commit.table.fragments()),
    )


class ManifestStore:
    """A branch of the catalog. Threads may share it."""

    def __init__(
        self,
        root: RepositoryRoot,
        branch: str | None,
        name: str | None = None,
        *,
        hint: Callable[[], int | None] = lambda: None,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        """``hint`` returns a version at or before the head, from which the head is found quickly.

        ``is_gone`` is called for a branch that looks damaged, because it may be being deleted.
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
    def name(self) -> str:
        """The name of the graph branch, for messages."""
        return self._name or "main"

    @property
    def read(self) -> VersionsRead | None:
        """Return what was read so far, without waiting; None if nothing was read for an hour."""
        loaded = self._loaded
        if loaded is None or time.monotonic() - self._read_at > _READ_LATELY_SECONDS:
            return None
        last = loaded.table.version
        return VersionsRead(last if self._first is None else min(self._first, last), last)

    def recent(self, seconds: float) -> Loaded:
        """Return the state if it was read within the last seconds; otherwise read the head."""
        with self._lock:
            if self._loaded is not None and time.monotonic() - self._read_at <= seconds:
                return self._loaded
        return self.refresh()

    def refresh(self) -> Loaded:
        """Read what others published."""
        with self._lock, self._while_it_is_there():
            self._read_at = time.monotonic()
            if self._loaded is None:
                first = load(self._open(), self._root.location)
                self._first, self._loaded = first.table.version, first
            else:
                self._loaded = follow(self._loaded, self._loaded.table.refresh())
            return self._loaded

    def migrate(self, loaded: Loaded) -> Loaded:
        """Migrate the catalog to the newest internal schema version, before it is written."""
        with self._while_it_is_there():
            refuse_auto_cleanup(loaded.table)
            if loaded.older_version is None:
                return loaded
            now = load(migrate_internal_schema(loaded.table), self._root.location)
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
            return load(table.at(version), self._root.location)

    def compare_and_set(
        self, before: Loaded, rows: Sequence[ManifestRow], *, write_id: str
    ) -> Loaded:
        """Write rows onto the version for which they were made; raise what L1 raises.

        Another thread may have moved the handle to a later version. There, a key that another
        writer has inserted would be matched, and its row replaced.
        """
        with self._while_it_is_there():
            commit = before.table.cas_merge(rows_to_arrow(rows), key="object_id", write_id=write_id)
        with self._lock:
            if not commit.follows_base:
                return self._followed_after(write_id, commit.table)
            written = attrs.evolve(
                before,
                table=commit.table,
                state=fold(before.state, rows, commit.version),
                fragments=frozenset(commit.table.fragments()),
            )
            if self._loaded is None or self._loaded.table.version < commit.version:
                self._loaded = written
            return written

    def fence(self, before: Loaded) -> None:
        """Refuse every ``compare_and_set`` on this or an older version; raise what L1 raises."""
        with self._while_it_is_there():
            commit = before.table.fence()
        self.moved_to(follow(before, commit.table))

    def moved_to(self, made: Loaded) -> None:
        """Follow to the version that upkeep made."""
        with self._lock:
            if self._loaded is None or self._loaded.table.version < made.table.version:
                self._loaded = made

    def _followed_after(self, write_id: str, table: Table) -> Loaded:
        """Follow to the version of one's own write. An error here does not fail the write."""
        try:
            return self._follow(table)
        except OmniGraphError as error:
            raise OutcomeUnknown(
                location=str(table.location), write_id=write_id, detail=str(error)
            ) from error

    def _follow(self, table: Table) -> Loaded:
        if self._loaded is None:
            self._loaded = load(table, self._root.location)
        elif table.version > self._loaded.table.version:
            self._loaded = follow(self._loaded, table)
        return self._loaded

    @contextmanager
    def _while_it_is_there(self) -> Iterator[None]:
        """Report a branch that was deleted, and possibly created again, as ``UnknownBranch``."""
        try:
            yield
        except (DatasetNotFound, StaleBranch, NoSuchBranch) as error:
            if self._name is None:
                raise
            raise UnknownBranch(location=self._root.location, branch=self._name) from error
        except (CorruptDataset, NoSuchVersion) as error:
            if self._name is None or not self._is_gone():
                raise
            raise UnknownBranch(location=self._root.location, branch=self._name) from error

    def _open(self) -> Table:
        location, durability = self._root.child(MANIFEST), self._root.durability
        if self._root.storage.location.is_local:
            # Opening the head lists all versions there ever were; in a store it does not.
            near = self._hint()
            with suppress(NoSuchVersion, CorruptDataset):
                if near is not None:
                    return Table.open(
                        location, branch=self._branch, version=near, durability=durability
                    ).refresh()
        return Table.open(location, branch=self._branch, durability=durability)
