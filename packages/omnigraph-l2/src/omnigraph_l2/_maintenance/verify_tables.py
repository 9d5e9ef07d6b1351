"""Check the tables, at each version that a branch, a tag or a run shows.

Invariant: nothing is written. Each version and each of its files is read once, however many
branches show it. Memory is bounded: many ids go to disk. A broken table does not stop the others
from being checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._branch.snapshot import declared_type
from omnigraph_l2._catalog.catalog_state import unique_properties
from omnigraph_l2._commit.integrity import ENDS, node_tables_of
from omnigraph_l2._commit.unique_integrity import check_unique
from omnigraph_l2._maintenance.verify_catalog import Shown
from omnigraph_l2._maintenance.verify_report import Collector
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.pinned_reads import IdLookup
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import DuplicateValues

__all__ = ["CheckedVersion", "Thorough", "check_edges", "check_tables", "pins_of"]

_COPY = "bring the files back from a copy, or revert to a version that is whole"
_MEND = "delete or rename rows until it holds, in a transaction"
_REWRITE = "rewrite the table (tx.overwrite, with its own rows), and optimize it"
_UNREADABLE = frozenset({"table-unreadable", "table-columns", "index-unreadable"})
_BTREE = "BTREE"
_SHOWN = 10
_AT_ONCE = 262_144
_OPENED_AT_ONCE = 64


@attrs.frozen(kw_only=True)
class Thorough:
    """How much of each table is checked."""

    duplicates: bool
    values: bool


@attrs.frozen
class _Fragment:
    """A fragment, the same for all versions that have it."""

    path: str
    number: int
    files: tuple[str, ...]
    marked: tuple[str | None, int] | None
    """The version, where rows of it are deleted there."""


@attrs.frozen(kw_only=True)
class _TableCheck:
    """The check of all tables."""

    root: RepositoryRoot
    thorough: Thorough
    seen: set[_Fragment] = attrs.field(factory=set)
    broken: set[_Fragment] = attrs.field(factory=set)


@attrs.frozen(kw_only=True)
class CheckedVersion:
    """A version of a table, and who shows it."""

    table_key: str
    path: str
    branch: str | None
    version: int
    shown: list[Shown] = attrs.field(factory=list, eq=False)

    @property
    def subject(self) -> str:
        """What to call it in a finding."""
        on = "" if self.branch is None else f" of native branch {self.branch}"
        by = ", ".join(each.subject for each in self.shown[:3])
        more = "" if len(self.shown) <= 3 else f" and {len(self.shown) - 3} more"  # noqa: PLR2004
        return f"{self.table_key} at version {self.version}{on} ({by}{more})"


def pins_of(shown: Iterable[Shown], tables: Collection[str] | None) -> list[CheckedVersion]:
    """Name each version once."""
    found: dict[CheckedVersion, CheckedVersion] = {}
    for each in shown:
        for key, entry in each.state.tables.items():
            if tables is None or key in tables:
                pin = CheckedVersion(
                    table_key=key,
                    path=entry.table_path,
                    branch=entry.table_branch,
                    version=entry.table_version,
                )
                found.setdefault(pin, pin).shown.append(each)
    return list(found)


def check_tables(
    root: RepositoryRoot, pins: Collection[CheckedVersion], thorough: Thorough, collector: Collector
) -> set[CheckedVersion]:
    """Check tables; return those that cannot be read."""
    look = _TableCheck(root=root, thorough=thorough)
    broken: set[CheckedVersion] = set()
    collector.count("table versions", len(pins))
    listed = list(pins)
    for start in range(0, len(listed), _OPENED_AT_ONCE):
        some = listed[start : start + _OPENED_AT_ONCE]
        for pin, (table, mine) in zip(some, root.at_once(partial(_open, root), some), strict=True):
            is_readable = table is not None
            if table is not None:
                _check_columns(pin, table, mine)
                _check_counts(pin, table, mine)
                is_readable = _check_fragments(look, pin, table, mine)
                if is_readable:
                    _check_indexes(pin, table, mine)
                if thorough.duplicates and is_readable and _has_ids(table):
                    _check_values(pin, table, mine)
            if not is_readable or mine.found & _UNREADABLE:
                broken.add(pin)
            if not mine.has_errors or any(each.stands() for each in pin.shown):
                collector.take(mine)
    return broken


def _open(root: RepositoryRoot, pin: CheckedVersion) -> tuple[Table | None, Collector]:
    table, collector = None, Collector()
    with collector.guard("table-unreadable", pin.subject, _COPY):
        try:
            table = root.open(pin.path, branch=pin.branch, version=pin.version)
        except NoSuchVersion:
            detail = "this version of its dataset is not there"
            collector.error("table-unreadable", pin.subject, detail, _COPY)
    return table, collector


def _check_columns(pin: CheckedVersion, table: Table, collector: Collector) -> None:
    remedy = "make the columns what they were, or bring the dataset back from a copy"
    with collector.guard("table-columns", pin.subject, remedy):
        for each in pin.shown:
            declared_type(each.state, pin.table_key, table.schema)
        for name in ("id", *(ENDS if pin.table_key.startswith("edge:") else ())):
            field = table.schema.field(name)
            if field.type != pa.string() or field.nullable:
                found = f"{field.type}{' or null' if field.nullable else ''}"
                detail = f"{name!r} is {found}, expected text that is never null"
                collector.error("table-columns", pin.subject, detail, remedy)


def _check_counts(pin: CheckedVersion, table: Table, collector: Collector) -> None:
    with collector.guard("table-unreadable", pin.subject, _COPY):
        count = table.count()
        collector.count("rows", count)
        for each in pin.shown:
            said = each.state.tables[pin.table_key].row_count
            if said != count:
                detail = f"the catalog of {each.subject} says {said} rows, and there are {count}"
                collector.error("row-count", pin.subject, detail, "publish the table again")


def _check_fragments(
    look: _TableCheck, pin: CheckedVersion, table: Table, collector: Collector
) -> bool:
    """Read one row or all of each new fragment; return whether all can be read."""
    todo: list[_Fragment] = []
    its: list[_Fragment] = []
    with collector.guard("table-unreadable", pin.subject, _COPY):
        for number, files in table.fragment_files().items():
            # What is deleted is a matter of the version; the other files never change.
            marked = (pin.branch, pin.version) if files.has_deletions else None
            its.append(_Fragment(pin.path, number, files.data, marked))
        todo = [each for each in its if each not in look.seen]
    look.seen.update(todo)
    collector.count("fragments", len(todo))

    def read(one: _Fragment) -> Collector:
        mine = Collector()
        subject = f"fragment {one.number} ({', '.join(one.files)}) of {pin.subject}"
        with mine.guard("data-unreadable", subject, _COPY):
            limit = None if look.thorough.values else 1
            for _ in table.scan(fragments=[one.number], limit=limit):
                pass
        return mine

    for one, mine in zip(todo, look.root.at_once(read, todo), strict=True):
        collector.take(mine)
        if mine.has_errors:
            look.broken.add(one)
    return look.broken.isdisjoint(its)


def _check_indexes(pin: CheckedVersion, table: Table, collector: Collector) -> None:
    """Look up one existing value in each index, because a full scan does not read indexes."""
    with collector.guard("index-unreadable", f"the indexes of {pin.subject}", _REWRITE):
        for name, info in table.indexes().items():
            column = info.columns[0]
            if info.kind != _BTREE or column not in table.schema.names:
                continue
            values = table.read(columns=[column], limit=1).column(0).drop_null()
            if len(values) and not table.find(column, values, columns=[column]).num_rows:
                detail = f"{name!r} does not find {values[0].as_py()!r}, which is there"
                collector.error("index-unreadable", pin.subject, detail, _REWRITE)


def _has_ids(table: Table) -> bool:
    return "id" in table.schema.names and table.schema.field("id").type == pa.string()


def _check_values(pin: CheckedVersion, table: Table, collector: Collector) -> None:
    """Check that ids and values of unique properties are not repeated."""
    with collector.guard("table-unreadable", pin.subject, _COPY), IdSet() as ids:
        nulls = 0
        for batch in table.scan(columns=["id"]):
            column = batch.column(0)
            nulls += column.null_count
            ids.add(column.drop_null())
        repeated = ids.find_repeated(_SHOWN)
        if repeated:
            detail = f"ids that stand more than once: {', '.join(map(repr, repeated))}"
            collector.error("duplicate-id", pin.subject, detail, _MEND)
        if nulls:
            collector.error("null-id", pin.subject, f"{nulls} rows have no id", _MEND)
        names = {
            name for each in pin.shown for name in unique_properties(each.state, pin.table_key)
        }
        try:
            check_unique(pin.table_key, sorted(names), None, table)
        except DuplicateValues as error:
            detail = (
                f"{error.property!r} is declared unique, and has values that stand more than once: "
                f"{', '.join(map(repr, error.repeated))}"
            )
            collector.error("duplicate-value", pin.subject, detail, _MEND)


def check_edges(
    root: RepositoryRoot,
    shown: Iterable[Shown],
    broken: Collection[CheckedVersion],
    tables: Collection[str] | None,
    collector: Collector,
) -> None:
    """Check that the ends of edges exist, in what each branch and tag shows."""
    unreadable = {(pin.path, pin.branch, pin.version) for pin in broken}
    done: set[tuple[Any, ...]] = set()
    for each in shown:
        at = {
            key: (entry.table_path, entry.table_branch, entry.table_version)
            for key, entry in each.state.tables.items()
        }
        for key, edges in at.items():
            if not key.startswith("edge:") or (tables is not None and key not in tables):
                continue
            for column in ENDS:
                nodes = [node for node in node_tables_of(each.state, key, column) if node in at]
                places = [edges, *(at[node] for node in nodes)]
                looked = (column, *places)
                if looked not in done and unreadable.isdisjoint(places):
                    mine = _check_ends(root, f"{key} of {each.subject}", column, places)
                    if not mine.has_errors or each.stands():
                        collector.take(mine)
                done.add(looked)


def _check_ends(
    root: RepositoryRoot,
    subject: str,
    column: str,
    places: Sequence[tuple[str, str | None, int]],
) -> Collector:
    collector = Collector()
    with collector.guard("table-unreadable", subject, _COPY), IdSet() as ends:
        edges, *nodes = (
            root.open(path, branch=branch, version=version) for path, branch, version in places
        )
        for batch in edges.scan(columns=[column]):
            ends.add(batch.column(0).drop_null())
        absent = list(_absent(ends, nodes, IdLookup(root.known_ids)))
        if absent:
            named = ", ".join(map(repr, absent))
            detail = f"its {column!r} names nodes that are not there: {named}"
            remedy = "add the nodes, or delete the edges"
            collector.error("dangling-edge", subject, detail, remedy)
    return collector


def _absent(ends: IdSet, nodes: Collection[Table], lookups: IdLookup) -> Iterator[str]:
    shown = 0
    for batch in ends.batches(_AT_ONCE):
        absent = batch.unique()
        for table in nodes:
            if len(absent):
                absent = lookups.missing(table, absent)
        yield from absent.slice(0, _SHOWN - shown).to_pylist()
        shown += len(absent)
        if shown >= _SHOWN:
            return
