"""One table with branches and a plain model of it: what each pin of it holds, and what differs.

Two pins are compared without a repository, because hundreds of drawn pairs are; how a diff or a
merge uses that is tested in ``tests/differences`` and ``tests/merging``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import Durability, Storage, Table
from omnigraph_l2 import TableEntry
from omnigraph_l2._rows.pinned_reads import changed_ids, rows_at
from omnigraph_l2._rows.row_diff import compare_rows, compared_counts
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = [
    "FIRST",
    "PATH",
    "Difference",
    "Lineages",
    "Pin",
    "RepositoryRoot",
    "Row",
    "Rows",
    "changed_ids",
    "compared_counts",
    "difference",
    "new_root",
    "rows_at",
    "told",
]

Row = dict[str, Any]
Rows = dict[str, Row]
Difference = dict[str, tuple[str, Row | None, Row | None]]

PATH = "nodes/table"
FIRST = pa.schema(
    [pa.field("id", pa.string(), nullable=False), ("a", pa.int64()), ("b", pa.utf8())]
)


def new_root(directory: str | Path) -> RepositoryRoot:
    """Return an empty root on local disk."""
    return RepositoryRoot(Storage.resolve(directory, None), Durability.NONE)


@attrs.frozen
class Pin:
    """A version of the table, and what it holds."""

    entry: TableEntry
    rows: Rows


class Lineages:
    """A table and its branches, to be changed at random, with every version remembered."""

    def __init__(self, root: RepositoryRoot) -> None:
        self.root = root
        self.pins: list[Pin] = []
        self._heads: dict[str | None, Table] = {None: root.create(PATH, FIRST)}
        self._rows: dict[str | None, Rows] = {None: {}}
        self.pin(None)

    @property
    def branches(self) -> list[str | None]:
        """The branches that there are."""
        return list(self._heads)

    def columns(self, branch: str | None) -> list[str]:
        """The columns of the head of a branch."""
        names: list[str] = self._heads[branch].schema.names
        return names

    def pin(self, branch: str | None) -> Pin:
        """Remember the head of a branch."""
        head, rows = self._heads[branch], self._rows[branch]
        entry = TableEntry(
            table_key="node:T",
            table_path=PATH,
            table_version=head.version,
            table_branch=branch,
            row_count=len(rows),
        )
        made = Pin(entry, {row_id: dict(row) for row_id, row in rows.items()})
        self.pins.append(made)
        return made

    def append(self, branch: str | None, rows: Rows) -> None:
        """Add rows whose ids are new."""
        new = {row_id: row for row_id, row in rows.items() if row_id not in self._rows[branch]}
        self._moved(branch, self._heads[branch].append(self._arrow(branch, new)).table)
        self._rows[branch] |= new

    def upsert(self, branch: str | None, rows: Rows) -> None:
        """Put rows in, or in the place of others."""
        self._moved(branch, self._heads[branch].upsert(self._arrow(branch, rows), "id").table)
        self._rows[branch] |= rows

    def overwrite(self, branch: str | None, rows: Rows) -> None:
        """Put rows in the place of all others."""
        self._moved(branch, self._heads[branch].overwrite(self._arrow(branch, rows)).table)
        self._rows[branch] = dict(rows)

    def delete(self, branch: str | None, ids: set[str]) -> None:
        """Take rows out."""
        self._moved(branch, self._heads[branch].delete_keys("id", sorted(ids)).table)
        self._rows[branch] = {
            row_id: row for row_id, row in self._rows[branch].items() if row_id not in ids
        }

    def compact(self, branch: str | None) -> None:
        """Write the rows again as they are."""
        self._moved(branch, self._heads[branch].compact().table)

    def restore(self, branch: str | None) -> None:
        """Let somebody commit rows, and take them back."""
        head = self._heads[branch]
        stranger = {f"stranger {head.version}": dict.fromkeys(self.columns(branch)[1:])}
        self._moved(
            branch, head.append(self._arrow(branch, stranger)).table.restore(head.version).table
        )

    def go_back(self, branch: str | None, pin: Pin) -> None:
        """Make what an older version of the same branch held the newest."""
        self._moved(branch, self._heads[branch].restore(pin.entry.table_version).table)
        self._rows[branch] = {row_id: dict(row) for row_id, row in pin.rows.items()}

    def drop_column(self, branch: str | None, name: str) -> None:
        """Drop a column."""
        self._moved(branch, self._heads[branch].drop_columns([name]).table)
        for row in self._rows[branch].values():
            row.pop(name)

    def add_column(self, branch: str | None, name: str) -> None:
        """Add a column, null in all rows."""
        self._moved(branch, self._heads[branch].add_columns([pa.field(name, pa.int64())]).table)
        for row in self._rows[branch].values():
            row[name] = None

    def take_up(self, branch: str | None) -> None:
        """Empty the table, as a type does that was dropped and comes back."""
        self._moved(branch, self._heads[branch].replace_schema(FIRST).table)
        self._rows[branch] = {}

    def fork(self, branch: str | None) -> str:
        """Start a branch at the head of another."""
        name = f"b{len(self._heads)}"
        self._heads[name] = self._heads[branch].fork(name, fresh=True)
        self._rows[name] = {row_id: dict(row) for row_id, row in self._rows[branch].items()}
        return name

    def _moved(self, branch: str | None, table: Table) -> None:
        self._heads[branch] = table

    def _arrow(self, branch: str | None, rows: Rows) -> pa.Table:
        schema = self._heads[branch].schema
        listed = [{"id": row_id, **row} for row_id, row in rows.items()]
        return pa.Table.from_pylist(listed, schema=schema)


def difference(before: Rows, after: Rows) -> Difference:
    """Say in the model's own words what differs."""
    found: Difference = {}
    for row_id in before.keys() | after.keys():
        old, new = before.get(row_id), after.get(row_id)
        if old is None:
            found[row_id] = ("insert", None, new)
        elif new is None:
            found[row_id] = ("delete", old, None)
        elif any(old.get(name) != new.get(name) for name in old.keys() | new.keys()):
            found[row_id] = ("update", old, new)
    return found


def told(root: RepositoryRoot, before: TableEntry | None, after: TableEntry | None) -> Difference:
    """Give what the comparison tells."""
    found: Difference = {}
    for part in compare_rows(root, before, after):
        olds, news = part.structs()
        listed = zip(part.ids, part.kinds(), olds, news, strict=True)
        for row_id, kind, old, new in ([each.as_py() for each in entry] for entry in listed):
            assert row_id not in found
            found[row_id] = (kind, _without_id(old), _without_id(new))
    return found


def _without_id(row: Row | None) -> Row | None:
    return None if row is None else {name: value for name, value in row.items() if name != "id"}
