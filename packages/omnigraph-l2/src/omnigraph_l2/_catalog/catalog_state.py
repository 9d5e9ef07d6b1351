"""Compute what is visible on a branch from the rows of ``__manifest``. Pure.

Invariant: the result is that of the rule in docs/format.md, in whatever order the rows come and
whether they are folded in at once or one by one. A row that breaks the rule raises an error that
names it. The cost of folding follows the new rows and the number of tables, not the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from omnigraph_l1 import IndexKind, table_path
from omnigraph_l1.errors import InvalidName
from omnigraph_l2._catalog.graph_commit import Published
from omnigraph_l2._catalog.manifest_rows import (
    CLOSING,
    DURABLE,
    OPERATION,
    PUBLISH,
    RUN_READ,
    TABLE,
    TABLE_VERSION,
    TOMBSTONE,
    ManifestRow,
    json_object,
    read_publish_row,
    tombstone_key,
    version_key,
)
from omnigraph_l2._model.index_kinds import INDEX_KINDS
from omnigraph_l2.errors import CorruptRepository, UnknownTable

__all__ = [
    "CatalogState",
    "Registration",
    "TableEntry",
    "as_of",
    "declared_indexes",
    "empty_state",
    "endpoints",
    "endpoints_of",
    "fold",
    "later_rows",
    "unique_properties",
    "wanted_indexes",
]


@attrs.frozen(kw_only=True)
class TableEntry:
    """A table as it appears in a snapshot."""

    table_key: str
    table_path: str
    """Where its dataset is, below the root."""
    table_version: int
    table_branch: str | None
    """The native branch that holds the version; None is the main lineage."""
    row_count: int


@attrs.frozen(kw_only=True)
class Registration:
    """A registered table, visible or not, with the content of its ``table`` row."""

    table_key: str
    location: str
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    seen_at: int = attrs.field(default=0, eq=False, repr=False)
    """The catalog version at which the row last changed."""


@attrs.frozen(kw_only=True)
class Version:
    """A ``table_version`` row."""

    number: int
    branch: str | None
    row_count: int
    publish: int | None
    """The sequence of the commit that made it; None if another publisher did."""
    made_at: int
    """The catalog version at which the row came; that and its number identify it."""
    seen_at: int
    """The catalog version at which the row last changed."""
    is_durable: bool = attrs.field(default=False, eq=False)
    """Whether its author flushed it, or its store did."""


@attrs.frozen
class _Known:
    registration: Registration | None = None
    versions: tuple[Version, ...] = ()
    tombstone: int = 0


@attrs.frozen(kw_only=True)
class CatalogState:
    """What one branch of the catalog shows at one version of it."""

    location: str
    branch: str | None
    """The native branch that is read; None is main."""
    version: int
    tables: Mapping[str, TableEntry]
    """What is visible, by table key."""
    known: Mapping[str, _Known] = attrs.field(repr=False)
    publishes: tuple[Published, ...] = attrs.field(repr=False)
    """The newest commits, oldest first: those that the catalog still holds."""
    operations: Mapping[str, str] = attrs.field(repr=False)
    """Which commit an operation made, by the digest of its hash: those that are held."""
    reads: frozenset[str] = frozenset()
    """On the branch of a run: the tables that its transactions have read."""
    not_durable: frozenset[str] = attrs.field(default=frozenset(), eq=False, repr=False)
    """The visible tables whose version a power cut could still take, as far as is known."""
    foreign_version: int = 0
    """The newest catalog version in which another publisher published; 0 if never."""
    closed_at: int = 0
    """The sequence number that its deletion has taken, as the last one; 0 while it is open."""

    @property
    def last_sequence(self) -> int:
        """The sequence of the newest commit that the catalog holds; 0 where it holds none."""
        return self.publishes[-1].sequence if self.publishes else 0

    @property
    def last_taken(self) -> int:
        """The highest sequence number that is taken, by a commit or by the deletion."""
        return max(self.last_sequence, self.closed_at)

    @property
    def head(self) -> Published | None:
        """The newest commit of ours; None if only other publishers have published."""
        return self.publishes[-1] if self.publishes else None

    @property
    def is_foreign(self) -> bool:
        """Whether another publisher published last, so that the head is in the log only."""
        return self.foreign_version > (
            self.publishes[-1].commit.manifest_version if self.publishes else 0
        )

    @property
    def registrations(self) -> Mapping[str, Registration]:
        """Every table that was ever registered, by table key."""
        return {
            key: known.registration
            for key, known in self.known.items()
            if known.registration is not None
        }

    def registration(self, table_key: str) -> Registration | None:
        """Return what was registered under a table key, visible or not."""
        known = self.known.get(table_key)
        return None if known is None else known.registration

    def entry(self, table_key: object) -> TableEntry:
        """Return the entry of a visible table, or raise ``UnknownTable``."""
        entry = self.tables.get(table_key) if isinstance(table_key, str) else None
        if entry is None:
            shown = table_key if isinstance(table_key, str) else repr(table_key)
            raise UnknownTable(table_key=shown, known=tuple(self.tables))
        return entry

    def latest(self, table_key: str) -> int:
        """Return the visible version of a table; 0 where it has none, dropped or never there."""
        entry = self.tables.get(table_key)
        return 0 if entry is None else entry.table_version

    def floor(self, table_key: str) -> int:
        """Return the version that a new version of a table must be above."""
        return max(self.latest(table_key), self.tombstone(table_key))

    def tombstone(self, table_key: str) -> int:
        """Return the version up to which a table was dropped; 0 where it never was."""
        known = self.known.get(table_key)
        return 0 if known is None else known.tombstone

    def versions(self, table_key: str) -> tuple[Version, ...]:
        """Return the versions of a table that are still in the catalog and not superseded."""
        known = self.known.get(table_key)
        return () if known is None else known.versions

    def at_sequence(self, sequence: int) -> Published | None:
        """Return the commit with a sequence number, if the catalog holds it."""
        for made in reversed(self.publishes):
            if made.sequence <= sequence:
                return made if made.sequence == sequence else None
        return None

    def commit(self, commit_id: str) -> Published | None:
        """Find a commit among those that the catalog holds."""
        for made in reversed(self.publishes):
            if made.commit.graph_commit_id == commit_id:
                return made
        return None


def empty_state(location: str, branch: str | None) -> CatalogState:
    """Return the state of a catalog without rows."""
    return CatalogState(
        location=location,
        branch=branch,
        version=0,
        tables=MappingProxyType({}),
        known=MappingProxyType({}),
        publishes=(),
        operations=MappingProxyType({}),
    )


def fold(state: CatalogState, rows: Iterable[ManifestRow], version: int) -> CatalogState:
    """Add new or changed rows, and move to a version of the catalog."""
    touched: dict[str, _Known] = {}
    publishes: dict[int, Published] = {}
    operations: dict[str, str] = {}
    foreign = state.foreign_version
    listed = list(rows)
    for row in listed:
        if row.object_type in {TABLE, TABLE_VERSION, TOMBSTONE}:
            known = touched.get(row.table_key) or state.known.get(row.table_key) or _Known()
            if row.object_type == TABLE:
                found = _newer(known, row, state.location)
                known = _Known(found, known.versions, known.tombstone)
            elif row.object_type == TOMBSTONE:
                tombstone = max(known.tombstone, _tombstone(row, state.location))
                known = _Known(known.registration, known.versions, tombstone)
                if _sequence(row, state.location) is None:
                    foreign = max(foreign, row.updated_at_version)
            else:
                made = _version(row, state.location)
                versions = _with(known.versions, made)
                known = _Known(known.registration, versions, known.tombstone)
                if made.publish is None:
                    foreign = max(foreign, made.seen_at)
            touched[row.table_key] = known
        elif row.object_type == PUBLISH:
            commit = read_publish_row(row, state.location)
            before = publishes.get(commit.sequence) or state.at_sequence(commit.sequence)
            if before is not None and before.commit_id != commit.commit_id:
                raise _corrupt(row, state.location, f"it was commit {before.commit_id} before")
            publishes[commit.sequence] = commit
        elif row.object_type == OPERATION:
            digest, commit_id = _operation(row, state.location)
            operations[digest] = commit_id
    known_now, tables, not_durable = _merge_touched(state, touched)
    return attrs.evolve(
        state,
        version=version,
        tables=tables,
        known=known_now,
        not_durable=not_durable,
        publishes=_append(state.publishes, publishes),
        operations=(
            MappingProxyType({**state.operations, **operations}) if operations else state.operations
        ),
        reads=state.reads | _reads(listed),
        foreign_version=foreign,
        closed_at=max([state.closed_at, *_closings(listed, state)]),
    )


def as_of(state: CatalogState, rows: Iterable[ManifestRow], sequence: int) -> CatalogState:
    """Return the state after the commit ``sequence``; one write can hold several commits."""
    listed = list(rows)
    later = {row.object_id for row in later_rows(listed, sequence, state.location)}
    early = [row for row in listed if row.object_id not in later]
    return fold(state, early, state.version)


def later_rows(rows: Iterable[ManifestRow], sequence: int, location: str) -> list[ManifestRow]:
    """Return the rows that commits after ``sequence`` wrote."""
    return [row for row in rows if (_sequence(row, location) or 0) > sequence]


def _reads(rows: Iterable[ManifestRow]) -> frozenset[str]:
    return frozenset(row.table_key for row in rows if row.object_type == RUN_READ)


def _merge_touched(
    state: CatalogState, touched: Mapping[str, _Known]
) -> tuple[Mapping[str, _Known], Mapping[str, TableEntry], frozenset[str]]:
    if not touched:
        return state.known, state.tables, state.not_durable
    known = dict(state.known)
    tables = dict(state.tables)
    not_durable = set(state.not_durable)
    for key, now in touched.items():
        chosen = _visible(now, state.branch)
        if now.versions and now.registration is None:
            item = f"{key}${now.versions[-1].number:020d}"
            detail = "there is a version of this table, but no row that registers it"
            raise CorruptRepository(location=state.location, item=item, detail=detail)
        kept = () if chosen is None else _retain(now, chosen)
        known[key] = _Known(now.registration, kept, now.tombstone)
        not_durable.discard(key)
        if chosen is None or now.registration is None:
            tables.pop(key, None)
        else:
            tables[key] = TableEntry(
                table_key=key,
                table_path=now.registration.location,
                table_version=chosen.number,
                table_branch=chosen.branch,
                row_count=chosen.row_count,
            )
            if not chosen.is_durable:
                not_durable.add(key)
    shown = MappingProxyType(dict(sorted(tables.items())))
    return MappingProxyType(known), shown, frozenset(not_durable)


def _visible(known: _Known, branch: str | None) -> Version | None:
    alive = [each for each in known.versions if each.number > known.tombstone]
    if len(alive) == 1:
        return alive[0]
    return max(alive, key=lambda each: (each.number, each.branch == branch), default=None)


def _retain(known: _Known, chosen: Version) -> tuple[Version, ...]:
    return tuple(each for each in known.versions if each.number >= chosen.number)


def _with(versions: tuple[Version, ...], made: Version) -> tuple[Version, ...]:
    """Add a version row, or replace the known row by its later form.

    Version 1 of the catalog allowed several rows under one key. These are different rows: they came
    at different versions of the catalog, or at one version for different owners.
    """
    others = []
    for each in versions:
        if (each.number, each.made_at) == (made.number, made.made_at):
            if each.seen_at > made.seen_at or each == made:
                return versions
            if each.seen_at < made.seen_at:
                continue
        others.append(each)
    return (*others, made)


def _append(before: tuple[Published, ...], new: dict[int, Published]) -> tuple[Published, ...]:
    if not new:
        return before
    if not before or min(new) > before[-1].sequence:
        return (*before, *(new[sequence] for sequence in sorted(new)))
    merged = {made.sequence: made for made in before} | new
    return tuple(merged[sequence] for sequence in sorted(merged))


def _newer(known: _Known, row: ManifestRow, location: str) -> Registration:
    """Return the newer one of a ``table`` row and the registration that is known."""
    found = _registration(row, location)
    before = known.registration
    return before if before is not None and before.seen_at > found.seen_at else found


def _registration(row: ManifestRow, location: str) -> Registration:
    _check_key(row, row.table_key, location)
    try:
        proper = table_path(row.table_key)
    except InvalidName as error:
        raise _corrupt(row, location, error.rule) from error
    # Any other path may be one of our own datasets, another table, or outside of the repository.
    if row.location != proper:
        raise _corrupt(row, location, f"its location is {row.location!r}, expected {proper!r}")
    metadata = {} if row.metadata is None else json_object(row, location)
    return Registration(
        table_key=row.table_key,
        location=proper,
        metadata=metadata,
        seen_at=row.updated_at_version,
    )


def _version(row: ManifestRow, location: str) -> Version:
    number = _number(row, location)
    _check_key(row, version_key(row.table_key, number), location)
    if row.row_count is None:
        raise _corrupt(row, location, "its row_count is missing")
    if row.metadata is None:
        raise _corrupt(row, location, "its metadata is missing")
    return Version(
        number=number,
        branch=row.table_branch,
        row_count=row.row_count,
        publish=_sequence(row, location),
        made_at=row.created_at_version,
        seen_at=row.updated_at_version,
        is_durable=DURABLE in row.metadata and json_object(row, location).get(DURABLE) is True,
    )


def _tombstone(row: ManifestRow, location: str) -> int:
    number = _number(row, location)
    _check_key(row, tombstone_key(row.table_key, number), location)
    return number


def _check_key(row: ManifestRow, proper: str, location: str) -> None:
    if not row.table_key:
        raise _corrupt(row, location, "it does not name its table")
    if row.object_id != proper:
        raise _corrupt(row, location, f"its key should be {proper!r}")


def _closings(rows: Iterable[ManifestRow], state: CatalogState) -> Iterator[int]:
    """Return the numbers of the rows that close this branch, not one that it started from."""
    for row in rows:
        if row.object_type == CLOSING and row.table_branch == state.branch:
            yield _number(row, state.location)


def _operation(row: ManifestRow, location: str) -> tuple[str, str]:
    commit_id = json_object(row, location).get("graph_commit_id")
    if not isinstance(commit_id, str) or not commit_id:
        raise _corrupt(row, location, "its metadata does not name the commit")
    return row.object_id.partition("$")[2], commit_id


def _sequence(row: ManifestRow, location: str) -> int | None:
    if row.object_type == PUBLISH:
        return row.table_version
    if row.object_type in {TABLE_VERSION, TOMBSTONE, OPERATION} and row.metadata is not None:
        sequence = json_object(row, location).get("publish")
        if sequence is not None and (type(sequence) is not int or sequence < 0):
            raise _corrupt(row, location, f"its 'publish' is {sequence!r}, not a number")
        return sequence
    return None


def _number(row: ManifestRow, location: str) -> int:
    if row.table_version is None:
        raise _corrupt(row, location, "its table_version is missing")
    return row.table_version


def _corrupt(row: ManifestRow, location: str, detail: str) -> CorruptRepository:
    return CorruptRepository(location=location, item=row.object_id, detail=detail)


def endpoints(state: CatalogState, edge_key: str) -> Mapping[str, str]:
    """Return the node types at the ends of an edge type, by column, as far as they are known."""
    return endpoints_of(_metadata(state, edge_key))


def endpoints_of(metadata: Mapping[str, object]) -> Mapping[str, str]:
    """Return the same from the metadata of a registration."""
    found = metadata.get("endpoints")
    given = found.items() if isinstance(found, Mapping) else ()
    return {column: name for column, name in given if isinstance(name, str)}


def unique_properties(state: CatalogState, table_key: str) -> tuple[str, ...]:
    """Return the names of the properties that are declared unique."""
    found = _metadata(state, table_key).get("unique")
    return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


def declared_indexes(state: CatalogState, table_key: str) -> Mapping[str, str]:
    """Return the properties with a declared index, and its kind, as far as it is known."""
    found = _metadata(state, table_key).get("indexes")
    given = found.items() if isinstance(found, Mapping) else ()
    return {name: kind for name, kind in given if isinstance(kind, str) and kind in INDEX_KINDS}


def wanted_indexes(state: CatalogState, table_key: str) -> Mapping[str, IndexKind]:
    """Return the indexes that a table should have: on keys, unique and declared properties."""
    keys = ("id", "src", "dst") if table_key.startswith("edge:") else ("id",)
    wanted = dict.fromkeys((*keys, *unique_properties(state, table_key)), IndexKind.BTREE)
    declared = declared_indexes(state, table_key)
    return {name: INDEX_KINDS[kind] for name, kind in declared.items()} | wanted


def _metadata(state: CatalogState, table_key: str) -> Mapping[str, object]:
    registration = state.registration(table_key)
    return {} if registration is None else registration.metadata
