"""Read a table at a pin: open it, read rows by id, and find ids that may differ between two pins.

Invariant: no id that differs is missing. Equal pins cost nothing. Rows come out in the order of
their ids. A version that was cleaned up raises ``SnapshotExpired``, damage never does: only a
version that is gone is reported as expired. No error of omnigraph_l1 leaves this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.errors import L1Error
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._rows.change_candidates import find_candidates, rows_with
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import CorruptRepository, SnapshotExpired, StorageError, UnknownBranch

__all__ = [
    "changed_ids",
    "is_same_pin",
    "open_pinned",
    "rows_at",
    "translate_expired",
    "translate_read_errors",
]


def changed_ids(root: RepositoryRoot, before: TableEntry | None, after: TableEntry | None) -> IdSet:
    """Return ids, among them all whose rows differ. The caller closes the set.

    An id may have been added twice; ``IdSet.batches`` returns it once.
    """
    found = IdSet()
    try:
        for ids in _doubtful_ids(root, before, after):
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


def _doubtful_ids(
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


_BY_INDEX = 2_000
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
        if len(ids) <= _BY_INDEX and _is_indexed(table):
            found = table.find("id", ids, columns=with_id)
        else:
            batches = list(rows_with(table, ids).batches(with_id))
            schema = pa.schema([table.schema.field(name) for name in with_id])
            found = pa.Table.from_batches(batches, schema) if batches else schema.empty_table()
        return found.sort_by("id").select(chosen)


def _is_indexed(table: Table) -> bool:
    return any(info.columns == ("id",) for info in table.indexes().values())
