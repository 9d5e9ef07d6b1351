"""Data files that are gone or damaged: who notices, and how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lance import LanceDataset

from ._support import DATA_IS_MISSING, again, append, delete, failure, rows, upsert

UNDER = DATA_IS_MISSING.removeprefix("External error: ")


def _data_file(dataset: LanceDataset) -> Path:
    (found,) = (Path(dataset.uri) / "data").iterdir()
    return found


def test_a_missing_data_file_stops_scans(table: LanceDataset) -> None:
    """A missing data file: ArrowInvalid "External error: LanceError(IO): Generic N/A error: Not
    found: <path>" from a scan, an OSError of the same text from take, validate, delete, and with
    one more "External error: " from merge-insert.
    """
    missing = _data_file(table)
    missing.unlink()
    shown = [str(missing)]
    opened = again(table)
    failure(lambda: rows(opened)).require("ArrowInvalid", DATA_IS_MISSING, contains=shown)
    for ask in (
        lambda: again(table).take([0]),
        lambda: again(table).validate(),
        lambda: delete(again(table), "a"),
        lambda: again(table).count_rows(filter="x = 1"),
    ):
        failure(ask).require("OSError", UNDER, contains=shown)
    failure(lambda: upsert(again(table), "a")).require("OSError", DATA_IS_MISSING, contains=shown)


def test_metadata_does_not_miss_a_data_file(table: LanceDataset) -> None:
    """Opening, counting rows and appending do not notice a missing data file."""
    _data_file(table).unlink()
    assert again(table).count_rows() == 2
    assert append(again(table), "c").version == 2


@pytest.mark.parametrize(
    ("change", "start"),
    [
        (lambda b: b[: len(b) // 2], "External error: LanceError(IO): Generic memory error: "),
        (lambda _: b"", "External error: LanceError(IO): Generic memory error: Invalid range "),
        (
            lambda b: bytes(len(b)),
            "External error: Invalid user input: file does not appear to be a Lance file",
        ),
    ],
    ids=["cut short", "empty", "zeros"],
)
def test_a_torn_data_file_stops_scans(
    change: Callable[[bytes], bytes], start: str, table: LanceDataset
) -> None:
    """A data file cut short, empty or full of zeros: ArrowInvalid with a text of its own; "Invalid
    user input" can stand on damage.
    """
    path = _data_file(table)
    path.write_bytes(change(path.read_bytes()))
    failure(lambda: rows(again(table))).require("ArrowInvalid", start)


def test_the_manifest_records_the_size_of_each_data_file(table: LanceDataset) -> None:
    """Each data file's size is in the manifest."""
    (fragment,) = table.get_fragments()
    (data,) = fragment.metadata.files
    assert data.file_size_bytes == _data_file(table).stat().st_size
