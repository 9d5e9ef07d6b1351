"""What a killed process and a power cut do to plain lance, whose Rust code Python never sees."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

from campaign.power_cuts import EXT4_LIKE_DISK, STRICT_DISK, DiskModel, PowerCut
from campaign.traced_crash import TracedCrash
from campaign.tracing.file_operation_kill import AtFileOperation
from omnigraph_testing import mark

MODELS = pytest.mark.parametrize("model", [STRICT_DISK, EXT4_LIKE_DISK], ids=lambda m: m.name)


def append_row(place: Path) -> None:
    """Commit a version with plain lance, whose writes Python never sees."""
    lance.write_dataset(pa.table({"n": [2]}), str(place / "t.lance"), mode="append")


def append_rows(place: Path) -> None:
    """Commit three versions with plain lance."""
    for version in (1, 2, 3):
        mode = "create" if version == 1 else "append"
        lance.write_dataset(pa.table({"n": [version]}), str(place / "t.lance"), mode=mode)
        mark(str(version))


def lost_rows(state: PowerCut, place: Path) -> bool:
    """Tell whether a dataset lacks a version that was acknowledged."""
    newest = int(state.acknowledged[-1]) if state.acknowledged else 0
    state.materialise(place)
    try:
        rows = lance.dataset(str(place / "t.lance")).to_table()["n"].to_pylist()
    except (OSError, ValueError, KeyError):
        rows = []
    return rows[:newest] != list(range(1, newest + 1))


@pytest.mark.parametrize(("at", "versions"), [("before", 1), ("after", 2)])
def test_lance_is_killed_in_the_middle_of_a_commit(
    traced_crash: TracedCrash, tmp_path: Path, at: str, versions: int
) -> None:
    """Lance's Rust code is stopped at the link that makes a version visible, on either side."""
    lance.write_dataset(pa.table({"n": [1]}), str(tmp_path / "t.lance"))
    link = AtFileOperation(1, root=tmp_path, kind="link", path="*.manifest", at=at)
    assert traced_crash.run(append_row, tmp_path, kill=link).killed
    assert len(lance.dataset(str(tmp_path / "t.lance")).versions()) == versions


@MODELS
def test_plain_lance_loses_what_it_acknowledged(
    traced_crash: TracedCrash, tmp_path: Path, model: DiskModel
) -> None:
    """Lance syncs nothing: in some state a version that it returned from is gone or torn."""
    root = tmp_path / "root"
    root.mkdir()
    trace = traced_crash.record(append_rows, root, root=root)
    kinds = {type(each).__name__ for each in trace.file_operations}
    assert kinds == {"Mkdir", "Create", "Write", "Rename", "Link", "Unlink"}
    cuts = trace.power_cuts(model=model, limit=60)
    lost = [lost_rows(state, tmp_path / str(number)) for number, state in enumerate(cuts)]
    assert any(lost)
    assert not all(lost)
    assert not lost_rows(trace.after_all(), tmp_path / "after-all")


def test_a_version_file_of_zeros_opens_as_an_empty_dataset(tmp_path: Path) -> None:
    """A power cut can leave zeros for the newest version, and lance then shows no data at all."""
    place = tmp_path / "t.lance"
    for mode in ("create", "append"):
        lance.write_dataset(pa.table({"n": [1]}), str(place), mode=mode)
    newest = min((place / "_versions").glob("*.manifest"))
    newest.write_bytes(bytes(newest.stat().st_size))
    dataset = lance.dataset(str(place))
    assert dataset.version == 0
    assert dataset.schema.names == []
    assert dataset.count_rows() == 0
