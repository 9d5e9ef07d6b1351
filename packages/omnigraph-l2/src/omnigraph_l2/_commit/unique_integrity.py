"""Check that no two rows have the same value of a unique property.

Only the values in files that the transaction wrote are read; older rows are looked up, by index if
there is one.

Invariant: the answer is exact for the versions that are compared. The caller publishes with the
expectation that the table is still at its base.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.pinned_reads import present
from omnigraph_l2.errors import DuplicateValues

__all__ = ["check_unique"]

_SHOWN = 10
_LOOKED_UP_AT_ONCE = 262_144


def check_unique(
    table_key: str, properties: Sequence[str], base: Table | None, current: Table
) -> None:
    """Raise if a value written since ``base`` occurs twice; without a base, if any value does."""
    for name in properties:
        if name in current.schema.names:
            _check(table_key, name, base, current)


def _check(table_key: str, name: str, base: Table | None, current: Table) -> None:
    files = current.fragment_files()
    before = {} if base is None else base.fragment_files()
    new = [
        number
        for number, each in files.items()
        if number not in before or before[number].data != each.data
    ]
    old = sorted(files.keys() - set(new))
    kind = current.schema.field(name).type
    with IdSet() as written:
        for batch in current.scan(columns=[name], fragments=new) if new else ():
            written.add(_as_text(batch.column(0).drop_null()))
        repeated = written.find_repeated(_SHOWN)
        existing = list(_existing(current, name, kind, written, old)) if old else []
    if repeated or existing:
        raise DuplicateValues(
            table_key=table_key,
            property=name,
            existing=tuple(existing[:_SHOWN]),
            repeated=tuple(repeated),
        )


def _existing(
    table: Table, name: str, kind: pa.DataType, written: IdSet, fragments: Collection[int]
) -> Iterator[str]:
    shown = 0
    for texts in written.batches(_LOOKED_UP_AT_ONCE):
        found = _as_text(present(table, name, _from_text(texts, kind), fragments))
        yield from found.slice(0, _SHOWN).to_pylist()
        shown += len(found)
        if shown >= _SHOWN:
            return


def _as_text(values: pa.Array) -> pa.StringArray:
    """Return values as text, so that equal values are equal text."""
    return values.cast(_number(values.type) or values.type).cast(pa.string())


def _from_text(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    return texts.cast(_number(kind) or kind).cast(kind)


def _number(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of whole numbers for points in time, whose text would depend on the zone."""
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        return pa.int64()
    return None
