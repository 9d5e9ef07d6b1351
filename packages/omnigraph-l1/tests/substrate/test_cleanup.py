"""What cleanup_old_versions removes, spares and refuses."""

from __future__ import annotations

from datetime import timedelta

from lance import LanceDataset, LanceOperation

from ._support import (
    DATA_IS_MISSING,
    again,
    append,
    commit,
    failure,
    files,
    head,
    overwrite,
    restore,
    rows,
    staged,
    versions,
)

NOW = timedelta(0)


def test_a_tagged_version_makes_a_cleanup_refuse(two: LanceDataset) -> None:
    """… and refuses tagged ones: OSError "Cleanup error: 1 tagged version(s) have been marked for
    cleanup."; nothing is removed, neither by age nor by versions=.
    """
    two.tags.create("t", 1)
    start = "Cleanup error: 1 tagged version(s) have been marked for cleanup."
    failure(lambda: two.cleanup_old_versions(older_than=NOW)).require("OSError", start)
    failure(lambda: two.cleanup_old_versions(versions=[1])).require("OSError", start)
    assert versions(two) == [1, 2]


def test_a_tagged_version_can_be_skipped(two: LanceDataset) -> None:
    """… (or skips them with error_if_tagged_old_versions=False)."""
    latest = append(two, "d")
    latest.tags.create("t", 1)
    latest.cleanup_old_versions(older_than=NOW, error_if_tagged_old_versions=False)
    assert versions(two) == [1, 3]
    assert rows(again(two, 1)) == "a b"


def test_a_cleanup_knows_nothing_of_versions_that_we_pin(two: LanceDataset) -> None:
    """It knows nothing of versions that only our manifest pins: all but the newest go."""
    restore(two, 1)
    again(two).cleanup_old_versions(older_than=NOW)
    assert versions(two) == [3]
    failure(lambda: again(two, 2)).require(
        "ValueError", "Dataset at path ", contains=["/_versions/2.manifest was not found"]
    )


def test_a_cleanup_of_named_versions_removes_just_those(two: LanceDataset) -> None:
    """cleanup_old_versions(versions=[…]) removes those versions and what only they use; the
    newest, the current and unknown ones are passed over without an error.
    """
    old = again(two, 1)
    overwrite(two, "o")
    append(again(two), "p")
    stats = again(two).cleanup_old_versions(versions=[2, 4, 77])
    assert (stats.old_versions, versions(two)) == (1, [1, 3, 4])
    assert (rows(old), head(two)) == ("a b", (4, "o p"))
    assert stats.data_files_removed == 1, "only the fragment of c belonged to version 2 alone"


def test_a_cleanup_counts_what_it_would_do(two: LanceDataset) -> None:
    """explain_cleanup_old_versions says what would go, and nothing goes."""
    before = files(two.uri)
    told = two.explain_cleanup_old_versions(versions=[1], include_files=True)
    assert told.stats.old_versions == 1
    assert files(two.uri) == before


def test_a_cleanup_of_unverified_files_breaks_a_writer_at_work(table: LanceDataset) -> None:
    """cleanup_old_versions(older_than=0, delete_unverified=True) removes the files of a writer
    that has not committed yet; its commit is then accepted and unreadable.
    """
    written = staged(table, "c")
    again(table).cleanup_old_versions(older_than=NOW, delete_unverified=True)
    assert commit(table, LanceOperation.Append(written)).version == 2
    failure(lambda: rows(again(table))).require("ArrowInvalid", DATA_IS_MISSING)


def test_a_plain_cleanup_spares_a_writer_at_work(table: LanceDataset) -> None:
    """Without delete_unverified, files that no version names are spared while they are young."""
    written = staged(table, "c")
    again(table).cleanup_old_versions(older_than=NOW)
    commit(table, LanceOperation.Append(written))
    assert head(table) == (2, "a b c")


def test_auto_cleanup_is_off_by_default(table: LanceDataset) -> None:
    """lance.auto_cleanup.* … Off by default: a new table's config is empty."""
    assert table.config() == {}


def test_auto_cleanup_deletes_pinned_versions(table: LanceDataset) -> None:
    """lance.auto_cleanup.* in a table's config deletes versions that are not the head, pinned ones
    too, as part of an append.
    """
    table.update_config({"lance.auto_cleanup.interval": "1", "lance.auto_cleanup.older_than": "0s"})
    for one in ("c", "d", "e"):
        append(table.uri, one)
    assert versions(table) == [4, 5]
    assert head(table) == (5, "a b c d e")


def test_a_delta_outlives_the_versions_between(two: LanceDataset) -> None:
    """delta(v) reads only the newest version: it works where v itself was cleaned away."""
    append(two, "d")
    again(two).cleanup_old_versions(older_than=NOW)
    assert versions(two) == [3]
    inserted = again(two).delta(compared_against=1).get_inserted_rows().read_all()
    assert inserted["id"].to_pylist() == ["c", "d"]
