"""What concurrent, killed processes saw has a serial order, on local disk and on S3."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from each_store import AT_NIGHT, EACH_STORE
from fleet import Place, assert_linear, scaled, tables
from list_client import ListClient

from omnigraph_testing.histories import Kills, Outcome, Workload, check, run

pytestmark = pytest.mark.usefixtures("processes")

_TABLES = 3
_BETWEEN_KILLS = (2.0, 3.0)


@pytest.mark.parametrize("place", [*EACH_STORE, *AT_NIGHT], indirect=True)
def test_transactions_of_processes_that_are_killed(place: Place, tmp_path: Path) -> None:
    """200 random kills: nothing acknowledged is lost, nothing of the dead is seen in part."""
    kills = scaled(200)
    place.make(tables(_TABLES)).close()
    history = run(
        partial(ListClient, place),
        Workload(tuple(f"T{n}" for n in range(_TABLES)), seed=7, length=(1, 3)),
        directory=tmp_path / "journals",
        processes=4,
        seconds=5.0 + kills * sum(_BETWEEN_KILLS) / 2,
        kills=Kills(seed=7, every=_BETWEEN_KILLS, most=kills),
    )
    report = check(history)
    assert report.ok, str(report)
    # Less would mean that the processes did little but start.
    assert sum(each.outcome is Outcome.OK for each in history.transactions) > kills / 2
    with place.open() as repository:
        log = repository.log()
        assert_linear(repository, len(log) - 1)
