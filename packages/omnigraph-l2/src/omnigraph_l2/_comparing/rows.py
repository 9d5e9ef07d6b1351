"""Some rows of a table, by where they are, and reading them.

Always: memory is one bit for each row of the fragments concerned. Few rows are fetched by their
address, each with what it takes; where they are many of a fragment, it is read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_l1 import Table

__all__ = ["ADDRESS", "Addresses", "Rows"]

Addresses = npt.NDArray[np.uint64]
_Bits = npt.NDArray[np.uint8]

ADDRESS = "_rowaddr"
_FRAGMENT = np.uint64(32)
_OFFSET = np.uint64(0xFFFFFFFF)
_AT_ONCE = 10_000
_BATCH = 1_048_576
_MANY = 16
"""A fragment is read as a whole where one row of so many is wanted."""


class Rows:
    """Some rows of one version of a table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._bits: dict[int, _Bits] = {}

    def __len__(self) -> int:
        return sum(map(_count, self._bits.values()))

    def add(self, addresses: Addresses) -> None:
        """Add rows by their addresses."""
        fragments = addresses >> _FRAGMENT
        for fragment in np.unique(fragments).tolist():
            self._mark(fragment, addresses[fragments == fragment] & _OFFSET)

    def add_places(self, fragment: int, places: pa.Array) -> None:
        """Add the rows at some places of a fragment."""
        if len(places):
            self._mark(fragment, places.to_numpy())

    def add_fragments(self, fragments: Sequence[int]) -> None:
        """Add all rows of some fragments."""
        if fragments:
            scanned = self.table.scan(columns=[ADDRESS], fragments=fragments, batch_size=_BATCH)
            for batch in scanned:
                self.add(batch.column(0).to_numpy())

    def add_rows(self, others: Rows) -> None:
        """Add other rows of the same version."""
        for fragment, bits in others._bits.items():
            self._bits[fragment] = _either(self._bits.get(fragment), bits)

    def add_all(self) -> None:
        """Add all rows that there are."""
        self.add_fragments(list(self.table.fragments()))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read columns of these rows."""
        if not self._bits:
            return
        there = self.table.fragments()
        full: list[int] = []
        few: list[int] = []
        for fragment, bits in self._bits.items():
            (full if _count(bits) * _MANY > there[fragment] else few).append(fragment)
        if few:
            yield from self._fetched(few, columns)
        if full:
            yield from self._filtered(full, columns)

    def _mark(self, fragment: int, places: npt.NDArray[Any]) -> None:
        marked = np.zeros(int(places.max()) + 1, dtype=np.bool_)
        marked[places] = True
        self._bits[fragment] = _either(self._bits.get(fragment), np.packbits(marked))

    def _fetched(
        self, fragments: Sequence[int], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        wanted = np.concatenate([self._addresses(fragment) for fragment in fragments])
        for start in range(0, len(wanted), _AT_ONCE):
            listed = ",".join(map(str, wanted[start : start + _AT_ONCE].tolist()))
            yield from self.table.scan(columns=columns, filter=f"{ADDRESS} IN ({listed})")

    def _filtered(
        self, fragments: Sequence[int], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        with_address = [*columns, *({ADDRESS} - set(columns))]
        for batch in self.table.scan(columns=with_address, fragments=fragments):
            chosen = self._holds(batch.column(ADDRESS).to_numpy())
            if chosen.any():
                yield batch.select(range(len(columns))).filter(pa.array(chosen))

    def _holds(self, addresses: Addresses) -> npt.NDArray[np.bool_]:
        found = np.zeros(len(addresses), dtype=np.bool_)
        fragments = addresses >> _FRAGMENT
        for fragment in np.unique(fragments).tolist():
            bits = self._bits[fragment]
            within = np.flatnonzero(fragments == fragment)
            offsets = addresses[within] & _OFFSET
            known = offsets < np.uint64(8 * len(bits))
            marked = np.unpackbits(bits).astype(np.bool_)
            found[within[known]] = marked[offsets[known]]
        return found

    def _addresses(self, fragment: int) -> Addresses:
        offsets = np.flatnonzero(np.unpackbits(self._bits[fragment])).astype(np.uint64)
        return offsets | (np.uint64(fragment) << _FRAGMENT)


def _count(bits: _Bits) -> int:
    return int(np.unpackbits(bits).sum(dtype=np.int64))


def _either(one: _Bits | None, other: _Bits) -> _Bits:
    if one is None:
        return other
    short, long = sorted((one, other), key=len)
    joined = long.copy()
    joined[: len(short)] |= short
    return joined
