"""Checking rows that others wrote: they can be read only once they are committed for nobody to see.

Always: exact, and memory is bounded. Rows that the caller has checked itself at some version are
compared with what others published since, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Table
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._transactions.edges import ENDS
from omnigraph_l2._transactions.lookups import Lookups, gathered
from omnigraph_l2._transactions.operations import Append, Changed, Overwrite

__all__ = ["check_written"]

_SHOWN: Final = 10
_AT_ONCE: Final = 262_144


_Written = Append | Overwrite | Changed


def check_written(
    operation: _Written,
    before: Table,
    current: Table,
    *,
    ends: Sequence[IdSet],
    lookups: Lookups,
    others: Callable[[int], IdSet],
) -> tuple[list[str], list[str]]:
    """Give ids that were there, and ids that stand twice: some of them. Collect ends of edges.

    ``others`` gives the ids whose rows others may have changed since a version of the graph.
    """
    new, added = _new(operation, before, current)
    _collect(current, new, ends)
    may_exist = not isinstance(operation, Overwrite) and before.count() > 0
    if operation.checked_at is None:
        with IdSet() as ids:
            for batch in _ids(current, added):
                ids.add(batch)
            there = _there(before, ids.batches(_AT_ONCE), lookups) if may_exist else []
            return there, ids.repeated(_SHOWN)
    if not added or not may_exist:
        return [], []
    with others(operation.checked_at) as changed:
        return _there(before, _among(current, added, changed), lookups), []


def _new(operation: _Written, before: Table, current: Table) -> tuple[list[int], list[int]]:
    """Name the fragments that came, and those of them that hold rows which were not there."""
    known = {files.data for files in before.fragment_files().values()}
    came = {n: each.data for n, each in current.fragment_files().items() if each.data not in known}
    if not isinstance(operation, Changed):
        return list(came), list(came)
    inserted = operation.inserted_files
    return list(came), [number for number, data in came.items() if inserted.issuperset(data)]


def _collect(current: Table, new: Collection[int], ends: Sequence[IdSet]) -> None:
    if ends and new:
        for batch in current.scan(columns=list(ENDS), fragments=new):
            for name, found in zip(ENDS, ends, strict=True):
                found.add(batch.column(name))


def _among(current: Table, added: Collection[int], changed: IdSet) -> Iterator[pa.Array]:
    """Give those of some ids that rows which came have."""
    for some in changed.batches(_AT_ONCE):
        looked_at = gathered(_ids(current, added), len(some))
        hits = [ids.filter(pc.is_in(ids, value_set=some)) for ids in looked_at]
        yield pc.unique(pa.chunked_array(hits, pa.string()))


def _there(before: Table, ids: Iterable[pa.Array], lookups: Lookups) -> list[str]:
    """Give some of the ids that a table has."""
    found: list[str] = []
    for some in ids:
        if len(some):
            found += lookups.present(before, some).to_pylist()
        if len(found) >= _SHOWN:
            break
    return found[:_SHOWN]


def _ids(current: Table, fragments: Collection[int]) -> Iterator[pa.StringArray]:
    if fragments:
        for batch in current.scan(columns=["id"], fragments=fragments):
            yield batch.column(0)
