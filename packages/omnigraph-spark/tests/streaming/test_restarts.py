"""Drivers killed at random moments: each event is in both tables of the other graph, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from restarting import EVENTS_OF_A_FILE, arrive, follow, run
from sizes import sized
from spark_graph import KNOWS, PERSON, ids, made

from omnigraph_testing import Crash

pytestmark = [pytest.mark.spark, pytest.mark.integration]

RESTARTS = sized(2, 20)
FILES = 3
# When a run counts as hung: before pytest does, whose patience is an hour at full size.
_DEADLINE = sized(300.0, 3_000.0)


def test_each_event_once(spark: SparkSession, omnigraph_crash: Crash, tmp_path: Path) -> None:
    """Whatever was killed when; what a reader sees of the two tables always belongs together."""
    with made(tmp_path / "repo") as repo, made(tmp_path / "target") as target:
        killed = 0
        for restart in range(RESTARTS):
            arrive(tmp_path / "in", restart * FILES, FILES)
            outcome = omnigraph_crash.run(
                run, str(tmp_path), repo.uri, target.uri, restart, deadline=_DEADLINE
            )
            assert outcome.killed or outcome.finished, outcome.detail
            killed += outcome.killed
            snapshot = target.snapshot()
            people = {row["id"] for row in snapshot.read(PERSON, ["id"]).to_pylist()} - {"a", "b"}
            ends = {row["src"] for row in snapshot.read(KNOWS, ["src"]).to_pylist()} - {"a"}
            assert people == ends
        follow(spark, str(tmp_path), repo.uri, target.uri)
        assert killed >= RESTARTS // 2
        events = [f"n{each}" for each in range(RESTARTS * FILES * EVENTS_OF_A_FILE)]
        assert ids(target) == " ".join(sorted(["a", "b", *events]))
        assert ids(target, KNOWS) == " ".join(sorted(["e", *(f"k-{each}" for each in events)]))
        names = [each.operation_hash for each in target.log() if each.operation_hash]
        assert len(set(names)) == len(names)
