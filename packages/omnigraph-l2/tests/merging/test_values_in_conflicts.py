"""What a conflict tells of rows, and what a function gives back, whatever values there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import InvalidData, MergeConflict, MergeConflicts

THING = "node:Thing"
TYPES = {
    "day": pa.date32(),
    "moment": pa.timestamp("s"),
    "time": pa.time64("ns"),
    "days": pa.list_(pa.date32()),
}
SCHEMA = GraphSchema(nodes=[NodeType("Thing", {**TYPES, "note": pa.string()})])
FAR = 10_000_000


def rows(number: int) -> pa.Table:
    """Make a row of values that Python does not have."""
    columns = {
        "day": pa.array([FAR + number], pa.int32()).cast(pa.date32()),
        "moment": pa.array([10**12 + number], pa.int64()).cast(pa.timestamp("s")),
        "time": pa.array([number], pa.int64()).cast(pa.time64("ns")),
        "days": pa.array([[FAR + number]], pa.list_(pa.int32())).cast(TYPES["days"]),
    }
    return pa.table({"id": ["x"], **columns, "note": [str(number)]})


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with such a row, which both branches have changed."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as made:
        with made.transaction() as tx:
            tx.append(THING, rows(1))
        made.branches.create("side")
        for number, branch in enumerate(("main", "side")):
            with made.transaction(branch) as tx:
                tx.upsert(THING, rows(2 + number))
        yield made


def shown(repo: Repository) -> pa.Table:
    """Read the table, in the order of its schema."""
    return repo.snapshot().read(THING).select(["id", *TYPES, "note"])


def test_values_that_python_does_not_have(repo: Repository) -> None:
    """They are told as text, and all digits of them; the others as they are."""
    with pytest.raises(MergeConflicts) as refused:
        repo.branches.merge("side")
    (found,) = refused.value.conflicts
    assert found.ours is not None
    assert found.theirs is not None
    assert (found.ours["id"], found.ours["note"], found.theirs["note"]) == ("x", "2", "3")
    assert found.theirs["time"] == "00:00:00.000000003"
    for name in ("day", "moment", "days"):
        assert isinstance(found.ours[name], str)


@pytest.mark.parametrize(("strategy", "number"), [("ours", 2), ("theirs", 3)])
def test_a_side_that_wins(repo: Repository, strategy: str, number: int) -> None:
    """It is taken as it is."""
    repo.branches.merge("side", strategy=strategy)  # type: ignore[arg-type]
    assert shown(repo).equals(rows(number).cast(shown(repo).schema))


@pytest.mark.parametrize(("side", "number"), [("ours", 2), ("theirs", 3)])
def test_a_row_that_a_function_gives_back(repo: Repository, side: str, number: int) -> None:
    """It is that row, to the last digit; the one of the target is no change."""
    result = repo.branches.merge("side", strategy=lambda found: getattr(found, side))
    assert shown(repo).equals(rows(number).cast(shown(repo).schema))
    assert {each.updated for each in result.tables.values()} == ({1} if side == "theirs" else set())


def test_a_row_that_a_function_changes(repo: Repository) -> None:
    """What was text because Python does not have it is refused, and nothing is lost."""

    def changed(found: MergeConflict) -> dict[str, object]:
        return {**(found.theirs or {}), "note": "mine"}

    with pytest.raises(InvalidData):
        repo.branches.merge("side", strategy=changed)
    assert shown(repo)["note"].to_pylist() == ["2"]
