"""A spool gives the same stream again and again, all of it or the stream's own failure.

It has no public name: it is what lets an append read a stream twice, beyond memory.
"""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l2._rows.data_problems import SpillFailed
from omnigraph_l2._rows.id_set import IdSet, MemoryBound
from omnigraph_l2._rows.spill_file import Extent, Spool

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("tags", pa.list_(pa.string())),
        ("kind", pa.dictionary(pa.int8(), pa.string())),
    ]
)


def batches(count: int, rows: int = 10) -> Iterator[pa.RecordBatch]:
    """Give some batches, each of which says which one it is."""
    for number in range(count):
        ids = [f"{number}-{row}" for row in range(rows)]
        kinds = pa.array([f"k{number}"] * rows).dictionary_encode()
        columns = [pa.array(ids), pa.array([[i, None] for i in ids]), kinds.cast(SCHEMA.types[2])]
        yield pa.record_batch(columns, schema=SCHEMA)


@given(
    st.integers(0, 6), st.sampled_from([0, 1500, 10**6]), st.lists(st.integers(0, 2), max_size=12)
)
def test_readers_give_the_whole_stream_however_they_interleave(
    count: int, in_memory: int, turns: list[int]
) -> None:
    """In memory, on disk, or passing from one to the other while readers are at work."""
    expected = list(batches(count))
    with Spool(SCHEMA, batches(count), in_memory=in_memory) as spool:
        readers = [iter(spool) for _ in range(3)]
        seen: list[list[pa.RecordBatch]] = [[], [], []]
        for turn in turns:
            seen[turn] += [batch for batch in [next(readers[turn], None)] if batch is not None]
        for number, reader in enumerate(readers):
            assert seen[number] + list(reader) == expected
        assert spool.reader().read_all() == pa.Table.from_batches(expected, SCHEMA)
        assert spool.rows == 10 * count
        size = sum(batch.get_total_buffer_size() for batch in expected)
        assert spool.on_disk == (size > in_memory)
        assert {type(kept) for kept in spool._kept} <= {Extent if spool.on_disk else pa.RecordBatch}


def test_the_first_reader_waits_for_nothing() -> None:
    """A batch is taken from the stream when a reader asks for it."""
    taken = []

    def watched() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches(3)):
            taken.append(number)
            yield batch

    with Spool(SCHEMA, watched()) as spool:
        assert taken == []
        reader = iter(spool)
        next(reader)
        assert taken == [0]
        next(iter(spool))
        assert taken == [0]


def test_a_stream_that_failed_fails_for_each_reader() -> None:
    """A stream is never taken for shorter than it was, and its exception is the very one."""
    mine = ZeroDivisionError("mine")

    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches(2)
        raise mine

    with Spool(SCHEMA, failing()) as spool:
        for _ in range(2):
            seen = []
            with pytest.raises(ZeroDivisionError) as caught:
                seen.extend(batch for batch in spool)
            assert caught.value is mine
            with pytest.raises(ZeroDivisionError):
                spool.reader().read_all()


def test_a_closed_spool_gives_no_part_of_a_stream() -> None:
    """A reader that goes on after close is told, and does not end early."""
    with Spool(SCHEMA, batches(3), in_memory=0) as spool:
        reader = iter(spool)
        next(reader)
    with pytest.raises(RuntimeError, match="closed"):
        next(reader)
    with pytest.raises(RuntimeError, match="closed"):
        list(spool)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """The file has no name, and is closed with the spool or when the spool is forgotten."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    spool = Spool(SCHEMA, batches(5), in_memory=0, directory=str(tmp_path))
    list(spool)
    assert spool.on_disk
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before + 1  # noqa: PTH208
    del spool
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[str]:
    """Give a directory on a disk of 64 kB."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    yield str(tmp_path)
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disk_is_told(full_disk: str) -> None:
    """The error says where there is no room, and later readers do not see a shorter stream."""
    with Spool(SCHEMA, batches(100, 1000), in_memory=0, directory=full_disk) as spool:
        for _ in range(2):
            with pytest.raises(SpillFailed, match="No space left on device") as caught:
                list(spool)
            assert caught.value.full
            assert caught.value.directory == full_disk
    with IdSet(MemoryBound(10, 1000), directory=full_disk) as collected, pytest.raises(SpillFailed):
        collected.add(pa.array(["x" * 100_000, "y"] * 10))


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The error names the directory and what can be done."""
    missing = str(tmp_path / "missing")
    spool = Spool(SCHEMA, batches(2), in_memory=0, directory=missing)
    with spool, pytest.raises(SpillFailed, match="set TMPDIR") as caught:
        list(spool)
    assert not caught.value.full
    assert missing in str(caught.value)


def test_memory_does_not_grow_with_the_stream() -> None:
    """A stream of 400 MB is kept and read twice within a few times the bound."""
    bound, start, most = 4 * 2**20, pa.total_allocated_bytes(), 0

    def large() -> Iterator[pa.RecordBatch]:
        for number in range(400):
            yield pa.record_batch({"n": pa.array([number] * 131_072, pa.int64())})

    schema = pa.schema([("n", pa.int64())])
    with Spool(schema, large(), in_memory=bound) as spool:
        for _ in range(2):
            total = 0
            for batch in spool:
                total += len(batch)
                most = max(most, pa.total_allocated_bytes() - start)
            assert total == 400 * 131_072
    assert most < 4 * bound, most
