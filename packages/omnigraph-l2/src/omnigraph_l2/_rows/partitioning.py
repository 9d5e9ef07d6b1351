"""Assign strings to numbered partitions by a hash of their bytes; group rows by partition. Pure.

Invariant: equal strings get the same partition under the same seed, in each process and at each
time; unequal strings may share one. Rows of one partition keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["assign_partitions", "group_by_partition"]

_Words = npt.NDArray[np.uint64]
_WORD = 8
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FINISHER = np.uint64(0xBF58476D1CE4E5B9)
_SEED_STEP = 0xD6E8FEB86659FD93
_SHIFT = np.uint64(29)


def assign_partitions(strings: pa.StringArray, parts: int, seed: int) -> npt.NDArray[np.intp]:
    """Return the partition of each string, from 0; there are at most 65,536."""
    offsets_buffer, data = strings.buffers()[1:]
    if not len(strings):
        return np.zeros(0, dtype=np.intp)
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32, count=len(strings) + 1 + strings.offset)
    starts = offsets[strings.offset : -1].astype(np.int64)
    ends = offsets[strings.offset + 1 :].astype(np.int64)
    hashes = _hashes(data, starts, ends - starts, seed)
    result: npt.NDArray[np.intp] = ((hashes >> np.uint64(40)) % np.uint64(parts)).astype(np.intp)
    return result


def _hashes(
    data: pa.Buffer | None, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], seed: int
) -> _Words:
    hashes = _mix(lengths.astype(np.uint64) + np.uint64(seed * _SEED_STEP % 2**64))
    if data is None or not lengths.any():
        return hashes
    first, last = int(starts.min()), int((starts + lengths).max())
    bytes_ = np.zeros(last - first + _WORD, dtype=np.uint8)
    bytes_[:-_WORD] = np.frombuffer(data, dtype=np.uint8, count=last - first, offset=first)
    words = np.ndarray((last - first + 1,), dtype="<u8", buffer=bytes_.data, strides=(1,))
    positions, left = starts - first, lengths
    active = np.flatnonzero(left)
    while len(active):
        whole = left[active] >= _WORD
        word = words[positions[active]].astype(np.uint64)
        foreign = np.where(whole, 0, _WORD - left[active]).astype(np.uint64) * np.uint64(8)
        word = (word << foreign) >> foreign  # bits of what follows the string
        hashes[active] = _mix(hashes[active] ^ word)
        positions, left = positions + _WORD, left - _WORD
        active = active[left[active] > 0]
    return hashes


def _mix(words: _Words) -> _Words:
    words = words * _MULTIPLIER
    words = (words ^ (words >> _SHIFT)) * _FINISHER
    return words ^ (words >> _SHIFT)


def group_by_partition(
    part_of: npt.NDArray[np.integer], parts: int
) -> tuple[npt.NDArray[np.intp], Iterator[tuple[int, slice]]]:
    """Return the order that groups the partitions, and the slice of each one that has rows."""
    ends = np.cumsum(np.bincount(part_of, minlength=parts)).tolist()
    where = enumerate(map(slice, [0, *ends[:-1]], ends))
    return np.argsort(part_of, kind="stable"), (
        (part, rows) for part, rows in where if rows.stop > rows.start
    )
