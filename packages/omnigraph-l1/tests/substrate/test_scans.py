"""Scanning in parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance import LanceDataset

from ._support import again, append, create, delete, failure


@pytest.fixture
def many(tmp_path: Path) -> LanceDataset:
    """Five fragments of four rows, and two rows deleted from the first."""
    names = [f"{number:02}" for number in range(20)]
    dataset = create(tmp_path / "many", *names[:4])
    for start in range(4, 20, 4):
        append(dataset.uri, *names[start : start + 4])
    dataset = again(dataset)
    delete(dataset, "01", "02")
    return dataset


def _ids(table: object) -> list[str]:
    return list(table["id"].to_pylist())  # type: ignore[index]


def test_limit_and_offset_are_a_true_range_of_a_fragment(many: LanceDataset) -> None:
    """fragment.scanner(limit=, offset=) is a true range read, exact over deletions …"""
    fragment = many.get_fragment(0)
    assert fragment is not None
    parts = [fragment.scanner(limit=1, offset=at).to_table() for at in range(3)]
    assert [_ids(part) for part in parts] == [["00"], ["03"], []]
    plan = fragment.scanner(limit=1, offset=1).explain_plan()
    assert "range_before=Some(1..2)" in plan, plan


def test_with_a_filter_the_range_is_of_what_it_leaves(many: LanceDataset) -> None:
    """… only *without* a filter: with one, the rows before the offset are read as well."""
    fragment = many.get_fragment(1)
    assert fragment is not None
    scanner = fragment.scanner(limit=1, offset=1, filter="id > '04'")
    assert _ids(scanner.to_table()) == ["06"]
    assert "range_before=None" in scanner.explain_plan(), scanner.explain_plan()


def test_some_fragments_can_be_scanned_with_the_index(many: LanceDataset) -> None:
    """scanner(fragments=[…], filter=…) uses the BTREE; use_scalar_index=False does not."""
    many.create_scalar_index("id", "BTREE")
    dataset = again(many)
    some = [dataset.get_fragment(number) for number in (1, 2)]
    scanner = dataset.scanner(fragments=some, filter="id in ('05', '15')")
    assert _ids(scanner.to_table()) == ["05"]
    assert "ScalarIndexQuery" in scanner.explain_plan()
    plain = dataset.scanner(fragments=some, filter="id = '05'", use_scalar_index=False)
    assert _ids(plain.to_table()) == ["05"]
    assert "ScalarIndexQuery" not in plain.explain_plan()


def test_scans_of_no_columns_count(many: LanceDataset) -> None:
    """columns=[] scans work (counting)."""
    batches = list(many.scanner(columns=[], with_row_id=True).to_batches())
    assert sum(batch.num_rows for batch in batches) == 18
    assert many.count_rows() == 18
    assert many.scanner(columns=[], filter="id > '09'").count_rows() == 10


def test_batches_of_tiny_fragments_can_be_joined(many: LanceDataset) -> None:
    """batch_size=…, strict_batch_size=True joins the rows of tiny fragments: 18 rows in batches
    of 8 instead of one batch a fragment.
    """
    loose = [batch.num_rows for batch in many.scanner(batch_size=8).to_batches()]
    strict = many.scanner(batch_size=8, strict_batch_size=True).to_batches()
    assert loose == [2, 4, 4, 4, 4]
    assert [batch.num_rows for batch in strict] == [8, 8, 2]


def test_row_addresses_tell_the_fragment_and_the_offset(many: LanceDataset) -> None:
    """_rowaddr is the fragment's number times 2**32 plus the physical offset."""
    found = many.to_table(columns=["id"], filter="id in ('03', '05')", with_row_address=True)
    addresses = dict(zip(_ids(found), found["_rowaddr"].to_pylist(), strict=True))
    assert addresses == {"03": 3, "05": (1 << 32) + 1}


def test_a_fragment_that_is_not_there_is_none(many: LanceDataset) -> None:
    """get_fragment of an unknown number is None; a limit below zero is refused."""
    assert many.get_fragment(99) is None
    failure(lambda: many.scanner(limit=-1)).require("ValueError", "Limit must be non-negative")
