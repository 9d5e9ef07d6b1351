"""What differs between two snapshots: tables, properties, and rows by value.

Invariant: only differences are reported. A table that was rewritten with the same values is not. A
table that both snapshots show at one version costs nothing. Rows are read on demand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Final

import attrs
import pyarrow as pa

from omnigraph_l2._branch.diff_parts import ROWS_OF_A_PART, DiffPart, parts_of
from omnigraph_l2._branch.diff_row_schema import BATCH_ROWS, rows_schema
from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._errors.translating import translate_errors
from omnigraph_l2._model.argument_checks import check_count, check_key, invalid_argument
from omnigraph_l2._rows.pinned_reads import is_same_pin, open_pinned, translate_read_errors
from omnigraph_l2._rows.row_diff import compare_rows, compared_counts
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import UnknownTable

__all__ = ["Diff", "TableChange", "TableDiff", "diff_of"]

_SMALL: Final = 1_000_000


class TableChange(Enum):
    """The kind of change of a table."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@attrs.frozen(kw_only=True)
class TableDiff:
    """The change of one table. If it was added or removed, all of its rows count."""

    table_key: str
    change: TableChange
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    added_properties: tuple[str, ...] = ()
    """The properties that a table got that stayed; a property of another type is another one."""
    removed_properties: tuple[str, ...] = ()
    """The properties that it lost."""

    def __str__(self) -> str:
        counts = (
            (self.inserted, "inserted"),
            (self.updated, "updated"),
            (self.deleted, "deleted"),
        )
        parts = [f"{count:,} {what}" for count, what in counts if count]
        parts += [f"property {name} added" for name in self.added_properties]
        parts += [f"property {name} removed" for name in self.removed_properties]
        return f"{self.change.value} {self.table_key}: {', '.join(parts) or 'no rows'}"


@attrs.frozen(eq=False, repr=False, slots=False)
class Diff:
    """What differs between two revisions of the graph. Get one from ``repo.diff``; print it."""

    before: Snapshot
    after: Snapshot
    _root: RepositoryRoot = attrs.field(kw_only=True)
    _asked: frozenset[str] | None = attrs.field(default=None, kw_only=True)

    @cached_property
    def tables(self) -> Mapping[str, TableDiff]:
        """The tables that differ, by table key. Rows are compared when this is first asked for."""
        differing = [key for key in self._keys() if not is_same_pin(*self._pins(key))]
        with translate_errors():
            few = [key for key in differing if self._is_small(key)]
            found = dict(zip(few, self._root.at_once(self._table, few), strict=True))
            # One large table at a time, so that memory is that of one.
            found |= {key: self._table(key) for key in differing if key not in found}
        kept = {key: found[key] for key in differing}
        return MappingProxyType({key: each for key, each in kept.items() if each is not None})

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not self.tables

    def rows(self, table_key: str) -> pa.RecordBatchReader:
        """Read the rows of a table that differ.

        Column ``change`` is "insert", "update" or "delete"; then the ``id``, and the rows
        ``before`` and ``after``, as structs that are null where there is no row. Each id comes
        once, in no order.
        """
        self._check_asked(table_key)
        with translate_errors():
            schema = rows_schema(*self._schemas(table_key))
        return pa.RecordBatchReader.from_batches(schema, self._batches(table_key, schema))

    def share(
        self, table_key: str, *, rows_of_a_part: int = ROWS_OF_A_PART
    ) -> tuple[DiffPart, ...]:
        """Return what other processes need to read ``rows``, in parts; none where nothing differs.

        Where rows only came or only went, parts have about so many rows at the most; else there is
        one part. It reads no rows, and keeps no lease: what the parts read is kept as long as the
        retention, a tag or a branch does.
        """
        self._check_asked(table_key)
        check_count("rows_of_a_part", rows_of_a_part)
        with translate_errors():
            older, newer = self._pins(table_key)
            return parts_of(self._root, table_key, older, newer, rows_of_a_part=rows_of_a_part)

    def __str__(self) -> str:
        head = f"From {_describe(self.before)} to {_describe(self.after)}"
        if self.is_empty:
            return f"{head}: nothing differs"
        return "\n".join([f"{head}:", *(f"  {each}" for each in self.tables.values())])

    def __repr__(self) -> str:
        return f"<Diff from {_describe(self.before)} to {_describe(self.after)}>"

    def _check_asked(self, table_key: str) -> None:
        check_key(table_key, self._table_keys())
        if table_key not in self._keys():
            raise UnknownTable(table_key=table_key, known=tuple(self._keys()))

    def _table_keys(self) -> list[str]:
        return sorted({*self.before.tables, *self.after.tables})

    def _keys(self) -> list[str]:
        return [key for key in self._table_keys() if self._asked is None or key in self._asked]

    def _pins(self, table_key: str) -> tuple[TableEntry | None, TableEntry | None]:
        return self.before.tables.get(table_key), self.after.tables.get(table_key)

    def _is_small(self, table_key: str) -> bool:
        rows = [0 if entry is None else entry.row_count for entry in self._pins(table_key)]
        return max(rows) <= _SMALL

    def _table(self, table_key: str) -> TableDiff | None:
        """Compare one table; None where nothing differs."""
        older, newer = self._pins(table_key)
        counts = compared_counts(self._root, older, newer)
        change = TableChange.CHANGED
        added: tuple[str, ...] = ()
        removed: tuple[str, ...] = ()
        if older is None:
            change = TableChange.ADDED
        elif newer is None:
            change = TableChange.REMOVED
        else:
            before, after = self._schemas(table_key)
            added, removed = _missing_columns(after, before), _missing_columns(before, after)
            if not (counts.total or added or removed):
                return None
        return TableDiff(
            table_key=table_key,
            change=change,
            inserted=counts.inserted,
            updated=counts.updated,
            deleted=counts.deleted,
            added_properties=added,
            removed_properties=removed,
        )

    def _schemas(self, table_key: str) -> tuple[pa.Schema, pa.Schema]:
        """Return the columns on both sides; where there is no table, those of the other side."""
        known = []
        for entry in self._pins(table_key):
            if entry is not None:
                with translate_read_errors(self._root, entry):
                    known.append(open_pinned(self._root, entry).schema)
        return known[0], known[-1]

    def _batches(self, table_key: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with translate_errors():
            for part in compare_rows(self._root, *self._pins(table_key)):
                columns = [part.kinds(), part.ids, *part.structs()]
                rows = pa.Table.from_arrays(columns, schema=schema)
                yield from rows.to_batches(max_chunksize=BATCH_ROWS)


def diff_of(
    root: RepositoryRoot, before: Snapshot, after: Snapshot, tables: Collection[str] | None = None
) -> Diff:
    """Compare two snapshots: all tables, or some."""
    if tables is None:
        return Diff(before, after, root=root)
    given: object = tables
    if isinstance(given, str | bytes) or not isinstance(given, Collection):
        raise invalid_argument(given, "tables", "a collection of table keys, or None for all")
    known = tuple(sorted({*before.tables, *after.tables}))
    for key in tables:
        check_key(key, known)
        if key not in known:
            raise UnknownTable(table_key=key, known=known)
    return Diff(before, after, root=root, asked=frozenset(tables))


def _missing_columns(one: pa.Schema, other: pa.Schema) -> tuple[str, ...]:
    """Name the columns of one that the other lacks, or has with another type."""
    types = dict(zip(other.names, other.types, strict=True))
    return tuple(field.name for field in one if types.get(field.name) != field.type)


def _describe(snapshot: Snapshot) -> str:
    return f"{snapshot.branch} at version {snapshot.version}"
