"""Stable row ids, and the versions that rows carry."""

from __future__ import annotations

from pathlib import Path

import lance
from lance import LanceDataset

from ._support import again, append, commit_append, create, delete, people, rows, upsert

CREATED, UPDATED = "_row_created_at_version", "_row_last_updated_at_version"


def _facts(dataset: LanceDataset) -> dict[str, tuple[int, int, int]]:
    """Return the row id, the version of creation and that of the last update of each row."""
    found = dataset.to_table(columns=["id", CREATED, UPDATED], with_row_id=True)
    return {row["id"]: (row["_rowid"], row[CREATED], row[UPDATED]) for row in found.to_pylist()}


def test_a_dataset_of_ours_has_them(table: LanceDataset) -> None:
    """enable_stable_row_ids and data_storage_version="2.2" are kept by the dataset, and nothing
    needs to be said again when it is appended to.
    """
    latest = lance.write_dataset(people("c"), table.uri, mode="append")
    assert latest.has_stable_row_ids
    assert latest.data_storage_version == "2.2"
    assert _facts(latest)["c"] == (2, 2, 2)


def test_created_at_is_right_after_a_rebase(table: LanceDataset) -> None:
    """_row_created_at_version of a row is right after a rebase …"""
    old = again(table)
    append(table, "c")
    commit_append(old, "d", base=1)
    assert {name: fact[1] for name, fact in _facts(again(table)).items()} == {
        "a": 1,
        "b": 1,
        "c": 2,
        "d": 3,
    }


def test_created_at_is_right_after_a_rebased_merge(keyed: LanceDataset) -> None:
    """… of a merge-insert too, which is how a publish knows its own version …"""
    old = again(keyed)
    upsert(keyed, "k1")
    upsert(old, "a", "k2")
    assert _facts(again(keyed)) == {
        "a": (0, 1, 3),
        "b": (1, 1, 1),
        "k1": (2, 2, 2),
        "k2": (3, 3, 3),
    }


def test_created_at_is_right_after_a_compaction(two: LanceDataset) -> None:
    """… a compaction, which keeps row ids too …"""
    upsert(two, "a")
    before = _facts(again(two))
    again(two).optimize.compact_files()
    assert len(again(two).get_fragments()) == 1
    assert _facts(again(two)) == before
    assert before == {"a": (0, 1, 3), "b": (1, 1, 1), "c": (2, 2, 2)}


def test_created_at_is_right_after_a_fork(two: LanceDataset) -> None:
    """… and a fork."""
    branch = append(two.create_branch("x", 1), "n")
    assert _facts(branch) == {"a": (0, 1, 1), "b": (1, 1, 1), "n": (2, 2, 2)}


def test_delta_gives_what_changed_since(two: LanceDataset) -> None:
    """dataset.delta(v) gives inserted rows, updated rows and deleted row ids since v (needs stable
    row ids; rows carry _row_created_at_version and _row_last_updated_at_version).
    """
    upsert(two, "a", "n", x=9)
    delete(two, "b")
    delta = again(two).delta(compared_against=2)
    inserted = delta.get_inserted_rows().read_all().to_pylist()
    updated = delta.get_updated_rows().read_all().to_pylist()
    deleted = delta.get_deleted_row_ids().read_all().to_pylist()
    assert inserted == [{"id": "n", "x": 9, "_rowid": 3, CREATED: 3, UPDATED: 3}]
    assert updated == [{"id": "a", "x": 9, "_rowid": 0, CREATED: 1, UPDATED: 3}]
    assert [row["_rowid"] for row in deleted] == [1]


def test_delta_spans_a_compaction(two: LanceDataset) -> None:
    """A compaction between changes nothing of the delta."""
    append(again(two), "d")
    again(two).optimize.compact_files()
    delta = again(two).delta(compared_against=2)
    assert delta.get_inserted_rows().read_all()["id"].to_pylist() == ["d"]
    assert delta.get_updated_rows().read_all().num_rows == 0
    assert delta.get_deleted_row_ids().read_all().num_rows == 0


def test_rows_are_taken_by_row_id(two: LanceDataset, tmp_path: Path) -> None:
    """Rows are taken by their ids wherever they moved; unknown ids give nothing."""
    upsert(two, "a", x=9)
    found = again(two)._take_rows([2, 0, 99])
    assert sorted(found["id"].to_pylist()) == ["a", "c"]
    plain = lance.write_dataset(people("a"), str(tmp_path / "plain"))
    assert not plain.has_stable_row_ids
    assert rows(create(tmp_path / "t2", "a")) == "a"
