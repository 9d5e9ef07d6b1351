"""Read a table at a pin: open it, read rows by id, find which ids it has and which may differ.

Invariants: no id that differs is missing, and equal pins cost nothing. Rows come out in the order
of their ids. Which of some values a column has is exact; it costs look-ups in an index or one pass
over one column, and nothing for small files that this process wrote or has read. A version that was
cleaned up raises ``SnapshotExpired``, damage never does: only a version that is gone is reported as
expired. No error of omnigraph_l1 leaves ``rows_at`` and ``changed_ids``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import FragmentFiles, Table
from omnigraph_l1.batch_groups import group_parts
from omnigraph_l1.errors import L1Error
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._rows.change_candidates import find_candidates, rows_with
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._store.repository_root import KnownIds, RepositoryRoot
from omnigraph_l2.errors import CorruptRepository, SnapshotExpired, StorageError, UnknownBranch

__all__ = [
    "IdLookup",
    "changed_ids",
    "concat_parts",
    "is_same_pin",
    "missing",
    "open_pinned",
    "present",
    "rows_at",
    "translate_expired",
    "translate_read_errors",
]

_BY_INDEX = 2_000
_SMALL_FRAGMENT = 8_192
_MOST_BYTES = 16 * 1024 * 1024


def changed_ids(root: RepositoryRoot, before: TableEntry | None, after: TableEntry | None) -> IdSet:
    """Return ids, among them all whose rows differ. The caller closes the set.

    An id may have been added twice; ``IdSet.batches`` returns it once.
    """
    found = IdSet()
    try:
        for ids in _candidate_ids(root, before, after):
            found.add(ids)
    except BaseException:
        found.close()
        raise
    return found


def is_same_pin(before: TableEntry | None, after: TableEntry | None) -> bool:
    """Return whether two entries name the same version of the same table."""
    return _pin(before) == _pin(after)


def _pin(entry: TableEntry | None) -> tuple[str, str | None, int] | None:
    return None if entry is None else (entry.table_path, entry.table_branch, entry.table_version)


def _candidate_ids(
    root: RepositoryRoot, before: TableEntry | None, after: TableEntry | None
) -> Iterator[pa.Array]:
    if is_same_pin(before, after):
        return
    with translate_read_errors(root, before, after):
        if before is not None and after is not None:
            rows = find_candidates(open_pinned(root, before), open_pinned(root, after))
            for side in (rows.before, rows.after):
                for batch in side.batches(["id"]):
                    yield batch.column(0)
            return
        for entry in (before, after):
            if entry is not None:
                for batch in open_pinned(root, entry).scan(columns=["id"]):
                    yield batch.column(0)


_NO_ROWS = pa.schema([pa.field("id", pa.string(), nullable=False)]).empty_table()


@contextmanager
def translate_expired(root: RepositoryRoot, entry: TableEntry) -> Iterator[None]:
    """Raise ``SnapshotExpired`` if the version that is being read was cleaned up."""
    try:
        with translate_table_errors(entry.table_key):
            yield
    except (CorruptRepository, StorageError, UnknownBranch) as error:
        if _is_gone(root, entry):
            raise SnapshotExpired(
                table_key=entry.table_key, table_version=entry.table_version
            ) from error
        raise


def _is_gone(root: RepositoryRoot, entry: TableEntry) -> bool:
    """Check what is stored, not what an open handle remembers."""
    native = entry.table_branch
    try:
        # A branch that is being deleted loses its name first, and its files one by one.
        if native is not None and not root.open(entry.table_path).has_branch(native):
            return True
        Table.open(
            root.child(entry.table_path),
            branch=native,
            version=entry.table_version,
            durability=root.durability,
        )
    except NoSuchVersion:
        return True
    except L1Error:
        return False
    return False


@contextmanager
def translate_read_errors(root: RepositoryRoot, *entries: TableEntry | None) -> Iterator[None]:
    """Translate errors of reading several pins, if it is unknown which pin failed."""
    with ExitStack() as stack:
        for entry in entries:
            if entry is not None:
                stack.enter_context(translate_expired(root, entry))
        yield


def open_pinned(root: RepositoryRoot, entry: TableEntry) -> Table:
    """Open a table at its pin."""
    with translate_expired(root, entry):
        return root.open(entry.table_path, branch=entry.table_branch, version=entry.table_version)


def rows_at(
    root: RepositoryRoot,
    entry: TableEntry | None,
    ids: pa.Array,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Read the rows with these ids at a pin, sorted by id: by an index, or in one pass over ids.

    Unknown ids are left out. Without a pin the result is empty and has only the column ``id``. The
    rows are held in memory.
    """
    if entry is None:
        return _NO_ROWS
    with translate_expired(root, entry):
        table = open_pinned(root, entry)
        chosen = list(table.schema.names if columns is None else columns)
        with_id = list(dict.fromkeys([*chosen, "id"]))
        if len(ids) <= _BY_INDEX and _is_indexed(table, "id"):
            found = table.find("id", ids, columns=with_id)
        else:
            batches = list(rows_with(table, ids).batches(with_id))
            schema = pa.schema([table.schema.field(name) for name in with_id])
            found = pa.Table.from_batches(batches, schema) if batches else schema.empty_table()
        return found.sort_by("id").select(chosen)


@attrs.frozen
class IdLookup:
    """Looks up ids in a table."""

    _known: KnownIds

    def present(self, table: Table, values: pa.Array) -> pa.Array:
        """Return those of the ids that the table has."""
        rows = table.fragments()
        small = {number for number, count in rows.items() if count <= _SMALL_FRAGMENT}
        large = rows.keys() - small
        found, uncertain = self._in_small(table, small, values)
        if len(uncertain):
            found.append(present(table, "id", uncertain))
        if large:
            found.append(present(table, "id", values, large))
        return pc.unique(pa.chunked_array(found, values.type))

    def missing(self, table: Table, values: pa.Array) -> pa.Array:
        """Return those of the ids that the table lacks."""
        found = self.present(table, values)
        return values.filter(pc.invert(pc.is_in(values, value_set=found)))

    def remember(self, before: Table, after: Table, ids: pa.Array) -> None:
        """Remember the ids that a commit wrote into one new file."""
        files = after.fragment_files()
        known = before.fragments()
        new = [each for number, each in files.items() if number not in known]
        if len(new) == 1:
            self._known.put(str(after.location), new[0].data[0], ids)

    def _in_small(
        self, table: Table, small: Collection[int], values: pa.Array
    ) -> tuple[list[pa.Array], pa.Array]:
        """Return the ids that certainly exist, and those that may have been deleted."""
        files, location = table.fragment_files(), str(table.location)
        sure: list[pa.Array] = []
        uncertain: list[pa.Array] = []
        unknown = []
        for number in small:
            ids = self._known.get(location, files[number].data[0])
            if ids is None:
                unknown.append(number)
            else:
                hits = values.filter(pc.is_in(values, value_set=ids))
                (uncertain if files[number].has_deletions else sure).append(hits)
        if unknown:
            sure.append(self._read(table, unknown, files, values))
        return sure, pc.unique(pa.chunked_array(uncertain, values.type))

    def _read(
        self,
        table: Table,
        unknown: Collection[int],
        files: Mapping[int, FragmentFiles],
        values: pa.Array,
    ) -> pa.Array:
        """Read the ids of some fragments, all at once, and remember those that are whole."""
        ids = table.read(columns=["id"], fragments=unknown).column(0).combine_chunks()
        start = 0
        for number, count in table.fragments().items():
            if number in unknown:
                if not files[number].has_deletions:
                    part = ids.slice(start, count)
                    self._known.put(str(table.location), files[number].data[0], part)
                start += count
        return values.filter(pc.is_in(values, value_set=ids))


def present(
    table: Table, column: str, values: pa.Array, fragments: Collection[int] | None = None
) -> pa.Array:
    """Return those of the values that a column has, in some fragments or in all."""
    if len(values) <= _BY_INDEX and _is_indexed(table, column):
        found = table.find(column, values.to_pylist(), columns=[column], fragments=fragments)
        return pc.unique(found.column(0))
    scanned = table.scan(columns=[column], fragments=fragments)
    parts = [
        pc.unique(some.filter(pc.is_in(some, value_set=values)))
        for some in concat_parts((batch.column(0) for batch in scanned), len(values))
    ]
    return pc.unique(pa.chunked_array(parts, values.type))


def concat_parts(parts: Iterable[pa.Array], rows: int) -> Iterator[pa.Array]:
    """Concatenate parts: each lookup hashes all values, so that few large parts cost less."""
    return map(pa.concat_arrays, group_parts(parts, rows=rows, size=_MOST_BYTES))


def missing(table: Table, column: str, values: pa.Array) -> pa.Array:
    """Return those of the values that a column lacks."""
    found = present(table, column, values)
    return values.filter(pc.invert(pc.is_in(values, value_set=found)))


def _is_indexed(table: Table, column: str) -> bool:
    return any(info.columns == (column,) for info in table.indexes().values())
