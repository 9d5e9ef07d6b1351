"""An IdSet answers exactly, in bounded memory, and leaves nothing behind.

It has no public name. The bounds of memory are lowered; the real ones need gigabytes.
"""

from __future__ import annotations

import gc
import os
import weakref
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l2._rows import id_set as ids
from omnigraph_l2._rows.id_set import IdSet, MemoryBound
from omnigraph_l2._rows.partitioning import assign_partitions

TINY = MemoryBound(4, 100, parts=3)
TEXTS = st.text(st.sampled_from("ab\u4eba\0"), max_size=20)


def _files() -> set[str]:
    held = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    return {str(link.readlink()) for link in held if link.is_symlink()}


@given(st.lists(st.lists(TEXTS, max_size=8), max_size=8), st.sampled_from([TINY, MemoryBound()]))
def test_answers_are_those_of_a_plain_counter(added: list[list[str]], bound: MemoryBound) -> None:
    """Whatever was added in whatever batches, in memory or on disk, asked once or again."""
    plain = Counter(text for texts in added for text in texts)
    twice = {text for text, count in plain.items() if count > 1}
    with IdSet(bound) as collected:
        for texts in added:
            collected.add(pa.array(["x", *texts, "y"], pa.string()).slice(1, len(texts)))
        assert len(collected) == plain.total()
        for _ in range(2):
            assert set(collected.find_repeated(10**6)) == twice
            assert len(collected.find_repeated(10**6)) == len(twice)
            assert len(collected.find_repeated(1)) == min(1, len(twice))
            batches = list(collected.batches(3))
            assert all(1 <= len(batch) <= 3 for batch in batches)
            assert Counter(text for b in batches for text in b.to_pylist()) == Counter(set(plain))


def test_more_may_be_added_after_an_answer() -> None:
    """An answer is of what was added so far."""
    with IdSet(TINY) as collected:
        collected.add(pa.array([f"n{n}" for n in range(100)]))
        assert collected.find_repeated(5) == []
        collected.add(pa.array(["n7"]))
        assert collected.find_repeated(5) == ["n7"]


def test_ids_whose_hashes_collide_are_not_taken_for_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """When all ids fall into one part at each level, answers are the same."""
    monkeypatch.setattr(
        ids, "assign_partitions", lambda strings, *_: np.zeros(len(strings), np.intp)
    )
    with IdSet(TINY) as collected:
        collected.add(pa.array([f"n{n}" for n in range(50)] + ["n3"]))
        assert collected.on_disk
        assert collected.find_repeated(9) == ["n3"]
        assert sum(map(len, collected.batches(1000))) == 50


def test_many_times_the_same_id_is_one_id() -> None:
    """Repetition costs room on disk, never memory, and is told once."""
    with IdSet(MemoryBound(100, 10_000, parts=2)) as collected:
        for _ in range(100):
            collected.add(pa.array(["same"] * 100))
        assert collected.find_repeated(9) == ["same"]
        assert [batch.to_pylist() for batch in collected.batches(9)] == [["same"]]


@given(st.lists(TEXTS, max_size=30), st.integers(0, 5), st.integers(0, 3))
def test_the_part_of_a_string_is_its_own(texts: list[str], skipped: int, seed: int) -> None:
    """It does not depend on neighbours, slices or what lies behind the string in memory."""
    together = assign_partitions(pa.array(texts, pa.string()).slice(skipped), 1000, seed)
    alone = [int(assign_partitions(pa.array([text]), 1000, seed)[0]) for text in texts[skipped:]]
    assert together.tolist() == alone


@pytest.mark.parametrize("form", ["{:020}", "node-{}", "{:x}" * 9, "{}-suffix-that-is-long"])
def test_parts_are_about_equally_large(form: str) -> None:
    """Numbered ids, long or short, spread evenly, and differently under another seed."""
    strings = pa.array([form.format(*[n] * 9) for n in range(20_000)])
    first, second = assign_partitions(strings, 64, 0), assign_partitions(strings, 64, 1)
    for parts in (first, second):
        counts = np.bincount(parts, minlength=64)
        assert counts.min() > 200
        assert counts.max() < 430
    assert (first == second).mean() < 0.05


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """The file has no name, and it is closed by close, by the with block, or when forgotten."""
    before = _files()
    closed = IdSet(TINY, directory=str(tmp_path))
    forgotten = IdSet(TINY, directory=str(tmp_path))
    for collected in (closed, forgotten):
        collected.add(pa.array([f"n{n}" for n in range(100)]))
        assert collected.on_disk
    assert len(_files() - before) == 2
    assert list(tmp_path.iterdir()) == []
    closed.close()
    closed.close()
    assert len(_files() - before) == 1
    reference = weakref.ref(forgotten)
    del forgotten, collected
    gc.collect()
    assert reference() is None
    assert _files() - before == set()


def _batch_of(numbers: range, wide: pa.Array) -> pa.RecordBatch:
    """Give a batch as a reader of a file gives it: all of its columns in one block of memory."""
    ids_ = pc.binary_join_element_wise("n", pa.array(np.asarray(numbers)).cast(pa.string()), "-")
    batch = pa.record_batch({"id": ids_, "wide": wide})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        return reader.read_next_batch()


def test_memory_does_not_grow_with_the_ids() -> None:
    """A million ids of wide batches, in too few parts: little is held at any time."""
    wide = pa.array([b"x" * 1000] * 2000)
    start, most, count = pa.total_allocated_bytes(), 0, 0
    with IdSet(MemoryBound(16_384, 2**20, parts=4)) as collected:
        for first in range(0, 1_000_000, 2000):
            collected.add(_batch_of(range(first, first + 2000), wide).column("id"))
            most = max(most, pa.total_allocated_bytes() - start)
        assert collected.find_repeated(5) == []
        for batch in collected.batches(10_000):
            count += len(batch)
            most = max(most, pa.total_allocated_bytes() - start)
    assert count == 1_000_000
    assert most < 3 * 2**20, most


def test_no_ids_are_in_no_part() -> None:
    """An empty batch is nothing special."""
    assert assign_partitions(pa.array([], pa.string()), 3, 0).tolist() == []


def test_ids_on_disk_come_back_in_few_batches() -> None:
    """Each batch may cost a look at a whole table: parts of the file are put together again."""
    with IdSet(MemoryBound(64, 10_000, parts=16)) as collected:
        collected.add(pa.array([f"n{n}" for n in range(1000)]))
        assert collected.on_disk
        sizes = [len(batch) for batch in collected.batches(500)]
    assert sum(sizes) == 1000
    assert max(sizes) <= 500
    assert len(sizes) <= 4
