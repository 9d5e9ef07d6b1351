"""Rows that other processes write for a transaction.

Invariant: a target can be pickled and contains no secret. What it writes is invisible until the
transaction that it came from accepts it and commits.
"""

from __future__ import annotations

from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import WriteTarget as TableTarget
from omnigraph_l1 import WrittenFragments
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.incoming_rows import incoming

__all__ = ["Staged", "WriteTarget"]


@attrs.frozen(kw_only=True)
class Staged:
    """What one writer wrote, to be sent to the transaction."""

    table_key: str
    written: WrittenFragments = attrs.field(repr=False)
    staged_for: str | None = attrs.field(default=None, repr=False)
    """The commit of the transaction for which it was written."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.written.rows

    @property
    def size_bytes(self) -> int:
        """How large the files are."""
        return self.written.size_bytes


@attrs.frozen(kw_only=True)
class WriteTarget:
    """Where another process may write rows for one table."""

    table_key: str
    target: TableTarget = attrs.field(repr=False)
    schema: pa.Schema = attrs.field(repr=False)
    """The columns that the rows must have."""
    staged_for: str | None = attrs.field(default=None, repr=False)
    """The commit of the transaction that takes them."""

    def check(self, columns: pa.Schema) -> None:
        """Raise ``InvalidData`` with every problem that rows with these columns would have."""
        with translate_data_errors(self.table_key):
            incoming(columns.empty_table(), self.schema, what=self.table_key)

    def write(self, data: Any) -> Staged:
        """Write rows without publishing them; send the result to the transaction."""
        with translate_data_errors(self.table_key), translate_table_errors(self.table_key):
            coming = incoming(data, self.schema, what=self.table_key)
            written = self.target.write(coming.reader())
        return Staged(table_key=self.table_key, written=written, staged_for=self.staged_for)
