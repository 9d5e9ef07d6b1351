"""Jobs on a cluster of which parts are killed: each row is there once, or nothing is visible."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from spark_graph import KNOWS, PERSON, ids, knows, made, person
from sparkjobs import EXECUTOR, KINDS, ROWS, TASKS, job

from omnigraph_l2 import Repository
from omnigraph_testing import AtPoint, Crash, S3Store

pytestmark = [pytest.mark.spark, pytest.mark.integration]

_PLACES = ("local disk", "S3")
_KILLED = {
    "killed before the publish": "l2.table.committed",
    "killed when all is ready": "l2.publish.planned",
    "killed after the publish": "l2.publish.visible",
}
_TROUBLES = (EXECUTOR, TASKS, *_KILLED)
_ALL = [(place, kind) for place in _PLACES for kind in KINDS]
_JOBS = [
    pytest.param(place, kind, trouble, id=f"{place}, {kind}, {trouble}")
    for number, (place, kind) in enumerate(_ALL)
    for trouble in (
        _TROUBLES if os.environ.get("OMNIGRAPH_FULL_SIZE") else [_TROUBLES[number % len(_TROUBLES)]]
    )
]
# When a job counts as hung: before pytest does, whose patience is an hour at full size.
_DEADLINE = 3_000.0 if os.environ.get("OMNIGRAPH_FULL_SIZE") else 570.0


@pytest.mark.parametrize(("place", "kind", "trouble"), _JOBS)
def test_exactly_once_or_nothing(  # noqa: PLR0917 - pytest gives them by name
    place: str,
    kind: str,
    trouble: str,
    crash: Crash,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Trouble of tasks is got over. Who commits may die: then it happened, or it did not."""
    uri, storage = str(tmp_path / "repo"), None
    if place == "S3":
        store: S3Store = request.getfixturevalue("s3_store")
        uri, storage = store.uri(f"{kind} {trouble}".replace(" ", "-")), dict(store.storage_options)
    made(uri, storage_options=storage).close()
    (tmp_path / "marks").mkdir()
    marks = str(tmp_path / "marks")
    if trouble in _KILLED:
        point = AtPoint(_KILLED[trouble])
        outcome = crash.run(
            job, uri, storage, kind, None, marks,
            kill=point, deadline=_DEADLINE, must_be_killed=False,
        )  # fmt: skip
        # Where Spark has a process of its own commit, that one dies, and the driver says so.
        assert outcome.killed or outcome.raised, outcome.detail
    else:
        outcome = crash.run(job, uri, storage, kind, trouble, marks, deadline=_DEADLINE)
        assert outcome.finished, outcome.detail
        assert list(Path(marks).iterdir())
    _check(uri, storage, kind, trouble)


def _check(uri: str, storage: dict[str, str] | None, kind: str, trouble: str) -> None:
    all_people = " ".join(sorted(["a", "b", *(f"p{each}" for each in range(ROWS))]))
    all_edges = " ".join(sorted(["e", *(f"k{each}" for each in range(ROWS))]))
    with Repository.open(uri, storage_options=storage, durability="none") as repo:
        happened = ids(repo) == all_people
        assert happened or ids(repo) == "a b"
        assert ids(repo, KNOWS) == (all_edges if happened and kind == KINDS[0] else "e")
        assert happened == (_KILLED.get(trouble) in {None, "l2.publish.visible"})
        with repo.transaction(operation_hash="the job") as tx:
            assert tx.is_repeat == happened
            tx.append(PERSON, [person("next")])
            tx.append(KNOWS, [knows("next", "next", "a")])
        assert ("next" in ids(repo)) != happened
        repo.flush()
        assert [each for each in repo.verify().findings if each.severity.value != "info"] == []
