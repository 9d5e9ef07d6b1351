"""What concurrent, killed processes saw has a serial order, on local disk and on S3."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from each_store import AT_NIGHT, EACH_STORE
from fleet import Location, assert_linear, tables
from list_client import ListClient
from sizes import sized

from campaign.forked_processes import process_context
from omnigraph_testing.histories import Kills, Outcome, Workload, check, run

pytestmark = pytest.mark.usefixtures("processes")

_TABLES = 3
_KILLS = sized(6, 200)
_SECONDS = sized(1.0, 5.0)
_BETWEEN_KILLS = sized((0.3, 0.6), (2.0, 3.0))


@pytest.mark.parametrize("location", [*EACH_STORE, *AT_NIGHT], indirect=True)
def test_transactions_of_processes_that_are_killed(
    location: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 random kills: nothing acknowledged is lost, nothing of the dead is seen in part."""
    monkeypatch.setattr(
        "omnigraph_testing.histories._worker_processes.get_context", lambda _: process_context()
    )
    location.make(tables(_TABLES)).close()
    history = run(
        partial(ListClient, location),
        Workload(tuple(f"T{n}" for n in range(_TABLES)), seed=7, length=(1, 3)),
        directory=tmp_path / "journals",
        processes=4,
        seconds=_SECONDS + _KILLS * sum(_BETWEEN_KILLS) / 2,
        kills=Kills(seed=7, every=_BETWEEN_KILLS, most=_KILLS),
    )
    report = check(history)
    assert report.ok, str(report)
    # Less would mean that the processes did little but start.
    assert sum(each.outcome is Outcome.OK for each in history.transactions) > _KILLS / 2
    with location.open() as repository:
        log = repository.log()
        assert_linear(repository, len(log) - 1)
