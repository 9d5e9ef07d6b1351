"""From the rows of ``__manifest`` to what is visible on a branch. Pure.

Always: the result is that of the rule in docs/format.md, whatever order the rows come in, and the
same whether rows are folded in at once or as they arrive. What breaks the rule is an error that
names the row. Cost of folding follows the new rows (and the number of tables), not the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from omnigraph_l2._catalog.commits import Published, published
from omnigraph_l2._catalog.rows import (
    OPERATION,
    PUBLISH,
    RUN_READ,
    TABLE,
    TABLE_VERSION,
    TOMBSTONE,
    ManifestRow,
    json_object,
    tombstone_key,
    version_key,
)
from omnigraph_l2.errors import CorruptRepository

__all__ = [
    "CatalogState",
    "Registration",
    "TableEntry",
    "as_of",
    "empty_state",
    "fold",
    "later_rows",
]


@attrs.frozen(kw_only=True)
class TableEntry:
    """A table as a snapshot shows it."""

    table_key: str
    table_path: str
    """Where its dataset is, below the root."""
    table_version: int
    table_branch: str | None
    """The native branch that holds the version; None is the main lineage."""
    row_count: int


@attrs.frozen(kw_only=True)
class Registration:
    """A table that is known, visible or not, with what its ``table`` row says of it."""

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
    """The sequence of the commit that made it; None where the original program did."""
    made_at: int
    """The catalog version at which the row came; that and its number tell it from others."""
    seen_at: int
    """The catalog version at which the row last changed."""


@attrs.frozen
class _Known:
    registration: Registration | None = None
    versions: tuple[Version, ...] = ()
    tombstone: int = 0


@attrs.frozen(kw_only=True)
class CatalogState:
    """What one branch of the catalog shows, at one version of it."""

    place: str
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
    foreign_version: int = 0
    """The newest catalog version in which the original program published; 0 if never."""

    @property
    def last_sequence(self) -> int:
        """The sequence of the newest commit that the catalog holds; 0 where it holds none."""
        return self.publishes[-1].sequence if self.publishes else 0

    @property
    def head(self) -> Published | None:
        """The newest commit of ours; None where only the original program has published."""
        return self.publishes[-1] if self.publishes else None

    @property
    def is_foreign(self) -> bool:
        """Whether the original program published last, so that the head is in its own log."""
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
        """Give what was registered under a table key, visible or not."""
        known = self.known.get(table_key)
        return None if known is None else known.registration

    def latest(self, table_key: str) -> int:
        """Give the version that an expectation is compared with; 0 where there is no table."""
        entry = self.tables.get(table_key)
        if entry is not None:
            return entry.table_version
        known = self.known.get(table_key)
        return 0 if known is None else known.tombstone

    def tombstone(self, table_key: str) -> int:
        """Give the version up to which a table was dropped; 0 where it never was."""
        known = self.known.get(table_key)
        return 0 if known is None else known.tombstone

    def versions(self, table_key: str) -> tuple[Version, ...]:
        """Give the versions of a table that are still in the catalog and not superseded."""
        known = self.known.get(table_key)
        return () if known is None else known.versions

    def at_sequence(self, sequence: int) -> Published | None:
        """Give the commit at a place in the sequence, if the catalog holds it."""
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


def empty_state(place: str, branch: str | None) -> CatalogState:
    """Start, with no row."""
    return CatalogState(
        place=place,
        branch=branch,
        version=0,
        tables=MappingProxyType({}),
        known=MappingProxyType({}),
        publishes=(),
        operations=MappingProxyType({}),
    )


def fold(state: CatalogState, rows: Iterable[ManifestRow], version: int) -> CatalogState:
    """Add rows that are new or changed, and move to a version of the catalog."""
    touched: dict[str, _Known] = {}
    publishes: dict[int, Published] = {}
    operations: dict[str, str] = {}
    foreign = state.foreign_version
    listed = list(rows)
    for row in listed:
        if row.object_type in {TABLE, TABLE_VERSION, TOMBSTONE}:
            known = touched.get(row.table_key) or state.known.get(row.table_key) or _Known()
            if row.object_type == TABLE:
                found = _newer(known, row, state.place)
                known = _Known(found, known.versions, known.tombstone)
            elif row.object_type == TOMBSTONE:
                tombstone = max(known.tombstone, _tombstone(row, state.place))
                known = _Known(known.registration, known.versions, tombstone)
                if _sequence(row, state.place) is None:
                    foreign = max(foreign, row.updated_at_version)
            else:
                made = _version(row, state.place)
                versions = _with(known.versions, made)
                known = _Known(known.registration, versions, known.tombstone)
                if made.publish is None:
                    foreign = max(foreign, made.seen_at)
            touched[row.table_key] = known
        elif row.object_type == PUBLISH:
            commit = published(row, state.place)
            before = publishes.get(commit.sequence) or state.at_sequence(commit.sequence)
            if before is not None and before.commit_id != commit.commit_id:
                raise _corrupt(row, state.place, f"it was commit {before.commit_id} before")
            publishes[commit.sequence] = commit
        elif row.object_type == OPERATION:
            digest, commit_id = _operation(row, state.place)
            operations[digest] = commit_id
    known_now, tables = _settled(state, touched)
    return attrs.evolve(
        state,
        version=version,
        tables=tables,
        known=known_now,
        publishes=_appended(state.publishes, publishes),
        operations=(
            MappingProxyType({**state.operations, **operations}) if operations else state.operations
        ),
        reads=state.reads | _reads(listed),
        foreign_version=foreign,
    )


def as_of(state: CatalogState, rows: Iterable[ManifestRow], sequence: int) -> CatalogState:
    """Reduce only what the commits up to ``sequence`` made: one write can hold several commits."""
    listed = list(rows)
    later = {row.object_id for row in later_rows(listed, sequence, state.place)}
    early = [row for row in listed if row.object_id not in later]
    return fold(state, early, state.version)


def later_rows(rows: Iterable[ManifestRow], sequence: int, place: str) -> list[ManifestRow]:
    """Pick what the commits after ``sequence`` made."""
    return [row for row in rows if (_sequence(row, place) or 0) > sequence]


def _reads(rows: Iterable[ManifestRow]) -> frozenset[str]:
    return frozenset(row.table_key for row in rows if row.object_type == RUN_READ)


def _settled(
    state: CatalogState, touched: Mapping[str, _Known]
) -> tuple[Mapping[str, _Known], Mapping[str, TableEntry]]:
    if not touched:
        return state.known, state.tables
    known = dict(state.known)
    tables = dict(state.tables)
    for key, now in touched.items():
        chosen = _visible(now, state.branch)
        if now.versions and now.registration is None:
            item = f"{key}${now.versions[-1].number:020d}"
            detail = "there is a version of this table, but no row that registers it"
            raise CorruptRepository(place=state.place, item=item, detail=detail)
        kept = () if chosen is None else _kept(now, chosen)
        known[key] = _Known(now.registration, kept, now.tombstone)
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
    return MappingProxyType(known), MappingProxyType(dict(sorted(tables.items())))


def _visible(known: _Known, branch: str | None) -> Version | None:
    alive = [each for each in known.versions if each.number > known.tombstone]
    if len(alive) == 1:
        return alive[0]
    return max(alive, key=lambda each: (each.number, each.branch == branch), default=None)


def _kept(known: _Known, chosen: Version) -> tuple[Version, ...]:
    return tuple(each for each in known.versions if each.number >= chosen.number)


def _with(versions: tuple[Version, ...], made: Version) -> tuple[Version, ...]:
    """Add a version row, or what became of one that is known.

    Version 1 of the catalog allowed several rows under one key, which are not the same row: they
    came at different versions of the catalog, or at one for different owners.
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


def _appended(before: tuple[Published, ...], new: dict[int, Published]) -> tuple[Published, ...]:
    if not new:
        return before
    if not before or min(new) > before[-1].sequence:
        return (*before, *(new[sequence] for sequence in sorted(new)))
    merged = {made.sequence: made for made in before} | new
    return tuple(merged[sequence] for sequence in sorted(merged))


def _newer(known: _Known, row: ManifestRow, place: str) -> Registration:
    """Read a ``table`` row; what is known already is kept where it is the newer one."""
    found = _registration(row, place)
    before = known.registration
    if before is None:
        return found
    if before.location != found.location:
        raise _corrupt(row, place, f"it registers {found.location}, another one {before.location}")
    return before if before.seen_at > found.seen_at else found


def _registration(row: ManifestRow, place: str) -> Registration:
    _check_key(row, row.table_key, place)
    if not row.location:
        raise _corrupt(row, place, "it registers a table without saying where it is")
    if not {"", ".", ".."}.isdisjoint(row.location.split("/")):
        raise _corrupt(row, place, f"its location {row.location!r} is not a path below the root")
    metadata = {} if row.metadata is None else json_object(row, place)
    return Registration(
        table_key=row.table_key,
        location=row.location,
        metadata=metadata,
        seen_at=row.updated_at_version,
    )


def _version(row: ManifestRow, place: str) -> Version:
    number = _number(row, place)
    _check_key(row, version_key(row.table_key, number), place)
    if row.row_count is None:
        raise _corrupt(row, place, "its row_count is missing")
    if row.metadata is None:
        raise _corrupt(row, place, "its metadata is missing")
    return Version(
        number=number,
        branch=row.table_branch,
        row_count=row.row_count,
        publish=_sequence(row, place),
        made_at=row.created_at_version,
        seen_at=row.updated_at_version,
    )


def _tombstone(row: ManifestRow, place: str) -> int:
    number = _number(row, place)
    _check_key(row, tombstone_key(row.table_key, number), place)
    return number


def _check_key(row: ManifestRow, proper: str, place: str) -> None:
    if not row.table_key:
        raise _corrupt(row, place, "it does not name its table")
    if row.object_id != proper:
        raise _corrupt(row, place, f"its key should be {proper!r}")


def _operation(row: ManifestRow, place: str) -> tuple[str, str]:
    commit_id = json_object(row, place).get("graph_commit_id")
    if not isinstance(commit_id, str) or not commit_id:
        raise _corrupt(row, place, "its metadata does not name the commit")
    return row.object_id.partition("$")[2], commit_id


def _sequence(row: ManifestRow, place: str) -> int | None:
    if row.object_type == PUBLISH:
        return row.table_version
    if row.object_type in {TABLE_VERSION, TOMBSTONE, OPERATION} and row.metadata is not None:
        sequence = json_object(row, place).get("publish")
        if sequence is not None and (type(sequence) is not int or sequence < 0):
            raise _corrupt(row, place, f"its 'publish' is {sequence!r}, not a number")
        return sequence
    return None


def _number(row: ManifestRow, place: str) -> int:
    if row.table_version is None:
        raise _corrupt(row, place, "its table_version is missing")
    return row.table_version


def _corrupt(row: ManifestRow, place: str, detail: str) -> CorruptRepository:
    return CorruptRepository(place=place, item=row.object_id, detail=detail)
