"""A table is cut so that each row is read once, and tasks are of a size. Pure: no JVM."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l2 import Fragment
from omnigraph_spark._read.scan_partitions import (
    PartitionLimits,
    ScanPartition,
    choose_batch_rows,
    keep_matching,
    plan_partitions,
)

LIMITS = PartitionLimits(rows=100, size_bytes=1000)
FRAGMENTS = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 9000)), max_size=30).map(
    lambda sizes: [Fragment(number * 2, *size) for number, size in enumerate(sizes)]
)


def read(fragments: list[Fragment], made: list[ScanPartition]) -> list[tuple[int, int]]:
    """Tell which rows the parts read, in their order."""
    rows = {each.number: each.rows for each in fragments}
    found = []
    for part in made:
        for number in part.fragments:
            start = part.offset or 0
            end = rows[number] if part.limit is None else start + part.limit
            found += [(number, row) for row in range(start, end)]
    return found


@given(FRAGMENTS)
def test_each_row_is_read_once_in_order(fragments: list[Fragment]) -> None:
    """With and without ranges; there is always a part, and never a range with a filter."""
    whole = [(each.number, row) for each in fragments for row in range(each.rows)]
    for like in (
        ScanPartition(()),
        ScanPartition((), use_index=True),
        ScanPartition((), use_index=False),
    ):
        made = plan_partitions(fragments, LIMITS, like=like)
        assert made
        assert read(fragments, made) == whole
        if like.use_index is not None:
            assert all(part.limit is None for part in made)


@given(FRAGMENTS)
def test_parts_are_of_a_size(fragments: list[Fragment]) -> None:
    """None is above the limits where it can be cut, and no two neighbours would fit in one."""
    sizes = {each.number: (each.rows, each.size_bytes) for each in fragments}
    made = plan_partitions(fragments, LIMITS, like=ScanPartition(()))

    def fit(numbers: tuple[int, ...]) -> bool:
        return LIMITS.pieces(*map(sum, zip(*map(sizes.__getitem__, numbers), strict=True))) <= 1

    for part in made:
        if part.limit is not None:
            assert part.limit <= LIMITS.rows
        elif len(part.fragments) > 1:
            assert fit(part.fragments)
    for one, other in pairwise(made):
        if one.limit is None and other.limit is None:
            assert not fit((*one.fragments, other.fragments[0]))


def test_many_tiny_fragments_are_one_part() -> None:
    """And a large one is several, of nearly the same size."""
    assert (
        len(
            plan_partitions(
                [Fragment(n, 1, 10) for n in range(100)], LIMITS, like=ScanPartition(())
            )
        )
        == 1
    )
    made = plan_partitions([Fragment(7, 250, 100)], LIMITS, like=ScanPartition((), batch_rows=5))
    assert [(part.offset, part.limit) for part in made] == [(0, 83), (83, 83), (166, 84)]
    assert {part.batch_rows for part in made} == {5}


def test_only_what_an_index_found_is_left() -> None:
    """Fragments without a match are not read, and the others count by their matches."""
    fragments = [Fragment(n, 1000, 10_000) for n in range(5)]
    left = keep_matching(fragments, {1: 3, 4: 1})
    assert left == [Fragment(1, 3, 0), Fragment(4, 1, 0)]
    made = plan_partitions(left, LIMITS, like=ScanPartition((), use_index=True))
    assert [part.fragments for part in made] == [(1, 4)]


def test_batches_of_large_rows_have_fewer() -> None:
    """So that a batch fits in memory, whatever a row is."""
    assert choose_batch_rows(1_000_000, 20_000_000) == 65_536
    assert choose_batch_rows(1000, 8 * 1024 * 1000) == 1024
    assert choose_batch_rows(10, 10**12) == 1
    assert choose_batch_rows(0, 0) == 1
