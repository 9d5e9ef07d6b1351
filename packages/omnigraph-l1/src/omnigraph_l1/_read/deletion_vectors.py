"""Deleted rows of a fragment, read from the small file that marks them.

Invariant: exact, or None if the file is of a kind that is not known here. Lance shows them only by
a scan of the rows that are left. Its format says that the file is either one column of an Arrow
file, or a Roaring bitmap in its portable form (https://github.com/RoaringBitmap/RoaringFormatSpec).
"""

from __future__ import annotations

import struct
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._lance.lance_failures import translate_errors
from omnigraph_l1._storage.location import Location
from omnigraph_l1._storage.stored_objects import read_object

__all__ = ["deleted_rows", "read_deletions"]

_WITHOUT_RUNS, _WITH_RUNS = 12346, 12347
_OFFSETS_FROM = 4
_LONGEST_LIST = 4096
_BITS = 65536


def deleted_rows(pinned: PinnedDataset, fragment: int) -> pa.UInt32Array | None:
    """Return the places of the rows of a fragment that are deleted, in no order."""
    pinned.guard.check()
    with translate_errors(pinned.location):
        known = pinned.dataset.get_fragment(fragment)
        file = None if known is None else known.metadata.deletion_file
        if file is None:
            return pa.array([], pa.uint32())
    return read_deletions(pinned, fragment, file)


def read_deletions(pinned: PinnedDataset, fragment: int, file: Any) -> pa.UInt32Array | None:
    """Read the places of rows that a file marks, whichever version it is of."""
    with translate_errors(pinned.location):
        folder = _lineage_folder(pinned, file.base_id)
    data = read_object(pinned.storage, folder + file.path(fragment))
    return None if data is None else _parse_vector(data, file)


def _lineage_folder(pinned: PinnedDataset, base: int | None) -> str:
    """Return the folder of the lineage that wrote the file, below the location of the dataset."""
    if base is None:
        return "" if pinned.branch is None else f"tree/{pinned.branch}/"
    recorded = Location.parse(pinned.dataset.base_paths()[base].path)
    below = recorded.key[len(pinned.location.key) :].strip("/")
    return f"{below}/" if below else ""


def _parse_vector(data: bytes, file: Any) -> pa.UInt32Array | None:
    places = None
    if file.file_type == "array":
        places = pa.ipc.open_file(pa.py_buffer(data)).get_batch(0).column(0)
    elif file.file_type == "bitmap":
        places = _parse_roaring(data)
    return places if places is not None and len(places) == file.num_deleted_rows else None


def _parse_roaring(data: bytes) -> pa.UInt32Array | None:
    """Read a bitmap: for each 65,536 numbers a list of them, one bit for each, or runs."""
    (cookie,) = struct.unpack_from("<I", data)
    position, with_runs = 4, b""
    if cookie & 0xFFFF == _WITH_RUNS:
        count = (cookie >> 16) + 1
        with_runs = data[4 : 4 + (count + 7) // 8]
        position += len(with_runs)
    elif cookie == _WITHOUT_RUNS:
        (count,) = struct.unpack_from("<I", data, position)
        position += 4
    else:
        return None
    heads = list(struct.iter_unpack("<HH", data[position : position + 4 * count]))
    position += 4 * count
    if not with_runs or count >= _OFFSETS_FROM:
        position += 4 * count
    parts = []
    for number, (high, less_one) in enumerate(heads):
        if with_runs and with_runs[number // 8] >> number % 8 & 1:
            (runs,) = struct.unpack_from("<H", data, position)
            low, size = _expand_runs(data[position + 2 : position + 2 + 4 * runs]), 2 + 4 * runs
        elif less_one < _LONGEST_LIST:
            size = 2 * (less_one + 1)
            low = _make_array(pa.uint16(), less_one + 1, data[position : position + size])
        else:
            size = _BITS // 8
            low = pc.indices_nonzero(
                _make_array(pa.bool_(), _BITS, data[position : position + size])
            )
        position += size
        parts.append(pc.add(low.cast(pa.uint32()), pa.scalar(high << 16, pa.uint32())))
    return pa.chunked_array(parts, pa.uint32()).combine_chunks()


def _expand_runs(data: bytes) -> pa.UInt32Array:
    runs = [range(start, start + more + 1) for start, more in struct.iter_unpack("<HH", data)]
    return pa.array(chain.from_iterable(runs), pa.uint32())


def _make_array(type_: pa.DataType, length: int, data: bytes) -> pa.Array:
    return pa.Array.from_buffers(type_, length, [None, pa.py_buffer(data)])
