"""Sets of rows of a table by row address, and reading those rows.

A row address is the number of the fragment and the offset in it, 32 bits each. Few rows of a
fragment are fetched by address, each with its cost; if there are many, the fragment is scanned.

Invariant: memory is a few bytes for each of the rows, and at most one bit for each row of the
fragments that they are in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.row_addresses import ADDRESS, Addresses, address_of, fragment_of, offset_of

__all__ = ["READ_AHEAD", "AddressedRows"]

_Places = npt.NDArray[np.uint32] | npt.NDArray[np.uint8]

READ_AHEAD = 64 * 1024 * 1024
_AT_ONCE = 10_000
_BATCH = 1_048_576
_MARKS_AT_ONCE = 4 * _BATCH
_BITS_OF_A_PLACE = 32
_MANY = 16
"""A fragment is read as a whole where one row of so many is wanted."""
_NO_MARKS = np.zeros(1, dtype=np.bool_)


class AddressedRows:
    """A set of rows of one version of a table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._places: dict[int, _Places] = {}

    def __len__(self) -> int:
        return sum(map(_count, self._places.values()))

    def add(self, addresses: Addresses) -> None:
        """Add rows by their addresses."""
        fragments = fragment_of(addresses)
        for fragment in _distinct(fragments):
            self._mark(fragment, offset_of(addresses[fragments == fragment]))

    def add_places(self, fragment: int, places: pa.Array) -> None:
        """Add the rows at some offsets of a fragment."""
        if len(places):
            self._mark(fragment, places.to_numpy())

    def add_fragments(self, fragments: Sequence[int]) -> None:
        """Add all rows of some fragments."""
        if fragments:
            scanned = self.table.scan(columns=[ADDRESS], fragments=fragments, batch_size=_BATCH)
            for batch in scanned:
                self.add(batch.column(0).to_numpy())

    def add_rows(self, others: AddressedRows) -> None:
        """Add other rows of the same version."""
        for fragment, kept in others._places.items():
            self._mark(fragment, _unpack(kept))

    def add_all(self) -> None:
        """Add all rows of the version."""
        self.add_fragments(list(self.table.fragments()))

    def of_fragments(self) -> dict[int, int]:
        """Return the number of these rows in each fragment."""
        return {fragment: _count(kept) for fragment, kept in self._places.items()}

    def holds(self, addresses: Addresses) -> npt.NDArray[np.bool_]:
        """Return which of some addresses belong to these rows."""
        fragments = {*_distinct(fragment_of(addresses))}
        marks = {
            each: _marks(self._places[each]) if each in self._places else _NO_MARKS
            for each in fragments
        }
        return _are_marked(marks, addresses)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read columns of these rows."""
        if not self._places:
            return
        there = self.table.fragments()
        full: list[int] = []
        few: list[int] = []
        for fragment, kept in self._places.items():
            (full if _count(kept) * _MANY > there[fragment] else few).append(fragment)
        if few:
            yield from self._fetch(few, columns)
        if full:
            yield from self._filter(full, columns)

    def _mark(self, fragment: int, places: npt.NDArray[Any]) -> None:
        known = self._places.get(fragment)
        both = places if known is None else np.concatenate([_unpack(known), places])
        self._places[fragment] = _pack(_sort(both.astype(np.uint32)))

    def _fetch(self, fragments: Sequence[int], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = np.concatenate([self._addresses(fragment) for fragment in fragments])
        for start in range(0, len(wanted), _AT_ONCE):
            listed = ",".join(map(str, wanted[start : start + _AT_ONCE].tolist()))
            yield from self.table.scan(
                columns=columns, filter=f"{ADDRESS} IN ({listed})", read_ahead=READ_AHEAD
            )

    def _filter(self, fragments: Sequence[int], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with_address = [*columns, *({ADDRESS} - set(columns))]
        for group in self._groups(fragments):
            marks = {fragment: _marks(self._places[fragment]) for fragment in group}
            scanned = self.table.scan(columns=with_address, fragments=group, read_ahead=READ_AHEAD)
            for batch in scanned:
                chosen = _are_marked(marks, batch.column(ADDRESS).to_numpy())
                if chosen.any():
                    yield batch.select(range(len(columns))).filter(pa.array(chosen))

    def _groups(self, fragments: Sequence[int]) -> Iterator[list[int]]:
        """Group the fragments that one scan reads, so that their bitmaps stay small."""
        there = self.table.fragments()
        group: list[int] = []
        held = 0
        for fragment in fragments:
            if group and held + there[fragment] > _MARKS_AT_ONCE:
                yield group
                group, held = [], 0
            group.append(fragment)
            held += there[fragment]
        yield group

    def _addresses(self, fragment: int) -> Addresses:
        places = _unpack(self._places[fragment]).astype(np.uint64)
        return address_of(fragment, places)


def _distinct(fragments: Addresses) -> list[int]:
    """Return each number once; equal numbers come in long runs."""
    ends = np.flatnonzero(fragments[1:] != fragments[:-1])
    return sorted({*fragments[ends].tolist(), *fragments[-1:].tolist()})


def _sort(places: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Sort offsets, and remove duplicates."""
    places = np.sort(places)
    is_first = np.ones(len(places), dtype=np.bool_)
    is_first[1:] = places[1:] != places[:-1]
    return places[is_first]


def _pack(places: npt.NDArray[np.uint32]) -> _Places:
    """Store offsets as they are, or as one bit for each row if that is smaller."""
    if len(places) * _BITS_OF_A_PLACE <= int(places[-1]):
        return places
    marked = np.zeros(int(places[-1]) + 1, dtype=np.bool_)
    marked[places] = True
    return np.packbits(marked)


def _unpack(kept: _Places) -> npt.NDArray[np.uint32]:
    if kept.dtype == np.uint8:
        return np.flatnonzero(np.unpackbits(kept.view(np.uint8))).astype(np.uint32)
    return kept.astype(np.uint32, copy=False)


def _count(kept: _Places) -> int:
    return len(kept) if kept.dtype == np.uint32 else len(_unpack(kept))


def _marks(kept: _Places) -> npt.NDArray[np.bool_]:
    """Return a bitmap of the offsets up to the last one, with one unset bit at the end."""
    places = _unpack(kept)
    marks = np.zeros(int(places[-1]) + 2, dtype=np.bool_)
    marks[places] = True
    return marks


def _are_marked(
    marks: dict[int, npt.NDArray[np.bool_]], addresses: Addresses
) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(addresses), dtype=np.bool_)
    fragments = fragment_of(addresses)
    for fragment in _distinct(fragments):
        within = fragments == fragment
        of_fragment = marks[fragment]
        last = np.uint64(len(of_fragment) - 1)
        found[within] = of_fragment[np.minimum(offset_of(addresses[within]), last)]
    return found
