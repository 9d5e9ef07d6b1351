"""Jobs on a cluster of which parts are killed: each row is there once, or nothing is visible."""

from __future__ import annotations

from pathlib import Path

import pytest
from sizes import sampled, sized
from spark_graph import KNOWS, PERSON, ids, knows, made, person
from sparkjobs import CLUSTER, EXECUTOR, KINDS, LOCAL, ROWS, TASKS, job

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
_EVERY = [
    (location, kind, trouble) for location in _PLACES for kind in KINDS for trouble in _TROUBLES
]
# By default: each location, each kind of job, and each kind of trouble.
_DEFAULT = [
    ("local disk", KINDS[0], EXECUTOR),
    ("S3", KINDS[1], TASKS),
    ("S3", KINDS[2], *sampled(_KILLED, 1)[:1]),
]
_JOBS = [pytest.param(*each, id=", ".join(each)) for each in sized(_DEFAULT, _EVERY)]
# On a cluster each job starts three JVMs. Only an executor that is killed needs one of its own.
_MASTERS = {EXECUTOR: CLUSTER, **dict.fromkeys((TASKS, *_KILLED), sized(LOCAL, CLUSTER))}
# When a job counts as hung: before pytest does, whose patience is an hour at full size.
_DEADLINE = sized(570.0, 3_000.0)


@pytest.mark.parametrize(("location", "kind", "trouble"), _JOBS)
def test_exactly_once_or_nothing(  # noqa: PLR0917 - pytest gives them by name
    location: str,
    kind: str,
    trouble: str,
    omnigraph_crash: Crash,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Trouble of tasks is got over. Who commits may die: then it happened, or it did not."""
    uri, storage = str(tmp_path / "repo"), None
    if location == "S3":
        store: S3Store = request.getfixturevalue("s3_store")
        uri, storage = store.uri(f"{kind} {trouble}".replace(" ", "-")), dict(store.storage_options)
    made(uri, storage_options=storage).close()
    (tmp_path / "marks").mkdir()
    marks = str(tmp_path / "marks")
    if trouble in _KILLED:
        point = AtPoint(_KILLED[trouble])
        outcome = omnigraph_crash.run(
            job, _MASTERS[trouble], uri, storage, kind, None, marks,
            kill=point, deadline=_DEADLINE, must_be_killed=False,
        )  # fmt: skip
        # Where Spark has a process of its own commit, that one dies, and the driver says so.
        assert outcome.killed or outcome.raised, outcome.detail
    else:
        outcome = omnigraph_crash.run(
            job, _MASTERS[trouble], uri, storage, kind, trouble, marks, deadline=_DEADLINE
        )
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
