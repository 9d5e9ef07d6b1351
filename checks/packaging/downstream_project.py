"""Somebody else's tests: they installed ``omnigraph-testing[s3,moto]``, and configured nothing.

Each fixture and each instrument of the package is used once, as its documentation says. A test of
the wheels runs this file as a project far from the checkout.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from functools import partial
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from hypothesis import given, settings
from obstore.exceptions import AlreadyExistsError, GenericError
from obstore.store import MemoryStore, from_url

from omnigraph_l1 import JsonRefs
from omnigraph_l1.errors import OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2 import Repository
from omnigraph_testing import (
    EXT4_LIKE_DISK,
    STRICT_DISK,
    Answer,
    AtFileOperation,
    AtMoment,
    AtPoint,
    AtRequest,
    BudgetExceeded,
    CutReply,
    FaultyRefs,
    FaultyStore,
    NeverKilled,
    Rule,
    StaleListing,
    mark,
    start_faulty_s3,
    tracing_problem,
)
from omnigraph_testing.contracts.refs import RefStoreContract
from omnigraph_testing.contracts.repositories import SCHEMA, RepositoryContract
from omnigraph_testing.histories import (
    AnomalyKind,
    Append,
    Kills,
    Outcome,
    RefAction,
    RefAnswer,
    RefRecorder,
    Workload,
    check,
    check_refs,
    read_history,
    read_ref_journals,
    run,
    write_history,
)
from omnigraph_testing.strategies import branch_names, histories, schemas, tables

ROWS = pa.table({"a": [1, 2, 3]})


# A store, and one that fails.


def test_a_real_s3_server(s3_server, s3_store):
    """Lance and obstore work with it; each store is a place of its own."""
    uri, options = s3_store.uri("t.lance"), s3_store.storage_options
    lance.write_dataset(ROWS, uri, storage_options=options)
    assert lance.dataset(uri, storage_options=options).count_rows() == 3
    assert s3_server.store().obstore().list().collect() == []


def test_a_lost_reply(faulty_s3):
    """Lance finds out that its commit is its own; a creation of one's own conflicts with itself."""
    lost = faulty_s3.inject(Rule(CutReply(), "PUT", key="*/_versions/*", times=1))
    uri, options = faulty_s3.uri("t.lance"), faulty_s3.storage_options
    assert lance.write_dataset(ROWS, uri, storage_options=options).version == 1
    assert lost.fired == 1
    again = faulty_s3.inject(Rule(Answer(500, applied=True), "PUT", key="leader", times=1))
    with pytest.raises(AlreadyExistsError):
        faulty_s3.obstore().put("leader", b"me", mode="create")
    assert again.fired == 1
    assert faulty_s3.direct.obstore().get("leader").bytes() == b"me"


def test_a_budget(faulty_s3):
    """Opening is two round trips; a third request breaks the budget and is named."""
    uri, options = faulty_s3.uri("t.lance"), faulty_s3.storage_options
    lance.write_dataset(ROWS, uri, storage_options=options)
    faulty_s3.latency = 0.02
    with faulty_s3.expect(max_requests=2, max_sequential=2, max_bytes=20_000):
        opened = lance.dataset(uri, storage_options=options)
    with (
        pytest.raises(BudgetExceeded, match=r"GET t\.lance/data"),
        faulty_s3.expect(max_requests=0),
    ):
        opened.to_table()


def test_hold_and_release(faulty_s3):
    """The writer that came first has the last word, because the test wants it so."""
    store = faulty_s3.obstore()
    held = faulty_s3.hold("PUT", key="x")
    slow = threading.Thread(target=store.put, args=("x", b"slow"))
    slow.start()
    held.wait()
    store.put("x", b"quick")
    held.release()
    slow.join()
    assert store.get("x").bytes() == b"slow"


def test_outside_a_fixture(s3_store):
    """The gateway is a block, too, and down where the test says so."""
    with start_faulty_s3(s3_store) as faulty:
        store = faulty.obstore()
        store.put("x", b"1")
        before = store.list().collect()
        faulty.inject(Rule(StaleListing(), "LIST"))
        store.put("y", b"1")
        assert store.list().collect() == before
        with faulty.down(), pytest.raises(GenericError):
            store.put("z", b"1", mode="create")


def test_a_store_without_http():
    """The same rules, within the process."""
    store = FaultyStore(MemoryStore())
    lost = store.inject(Rule(CutReply(), "PUT", times=1))
    with pytest.raises(GenericError):
        store.put("x", b"1")
    assert lost.fired == 1
    assert bytes(store.get("x").bytes()) == b"1"


def test_refs_that_fail():
    """A lost reply is an unknown outcome with an id by which it is found out."""
    refs = FaultyRefs(JsonRefs.in_memory())
    refs.inject(Rule(CutReply(), "CREATE"))
    with pytest.raises(OutcomeUnknown) as caught:
        refs.create("main", {"n": 1})
    assert refs.wrote("main", caught.value.write_id)


# Processes that are killed, and disks that lose power.

WRITTEN = declare("downstream.written", "the new report is whole, under another name")


def publish(place, text):
    """Write a report aside, and give it its name."""
    aside = Path(place) / "report.new"
    with aside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    failpoint(WRITTEN)
    aside.rename(Path(place) / "report")
    folder = os.open(place, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    mark(text)


def prepare(place):
    """Leave an old report."""
    publish(place, "old")
    return place, "new"


def upload(uri, options):
    """Write two objects."""
    store = from_url(uri, **options)
    store.put("one", b"1")
    store.put("two", b"2")


def test_killed_at_a_failpoint(crash, tmp_path):
    """The old report is there, and the new one is not."""
    publish(tmp_path, "old")
    outcome = crash.run(publish, tmp_path, "new", kill=AtPoint(WRITTEN))
    assert outcome.killed
    assert (tmp_path / "report").read_text() == "old"
    assert crash.points(publish, tmp_path, "newer") == (WRITTEN,)
    with pytest.raises(NeverKilled):
        crash.run(publish, tmp_path, "newer", kill=AtPoint(WRITTEN, hit=2))


@pytest.mark.parametrize(("at", "left"), [("before", ["one"]), ("after", ["one", "two"])])
def test_killed_at_a_request(crash, faulty_s3, s3_store, at, left):
    """At its second request, which the store has not seen yet, or has carried out."""
    kill = AtRequest(faulty_s3, 2, method="PUT", at=at)
    assert crash.run(upload, faulty_s3.uri("d"), faulty_s3.obstore_kwargs, kill=kill).killed
    assert sorted(each["path"] for each in s3_store.obstore("d").list().collect()) == left


def test_killed_at_an_operation_on_files(crash, tmp_path):
    """At its rename, before and after; and at each of its operations in turn."""
    for at, found in (("before", "old"), ("after", "new")):
        publish(tmp_path, "old")
        kill = AtFileOperation(1, root=tmp_path, kind="rename", at=at)
        assert crash.run(publish, tmp_path, "new", kill=kill).killed
        assert (tmp_path / "report").read_text() == found
    everywhere = list(crash.everywhere(publish, prepare=prepare, by="file operations"))
    reports = [(each.place / "report").read_text() for each in everywhere]
    assert len(reports) >= 5
    assert set(reports) == {"old", "new"}


def test_killed_at_some_moment(crash, tmp_path):
    """The report is the old one or the new one."""
    publish(tmp_path, "old")
    crash.run(publish, tmp_path, "new", kill=AtMoment(1, within=0.05))
    assert (tmp_path / "report").read_text() in {"old", "new"}


def test_power_cuts(crash, tmp_path):
    """Whatever the disk loses, what was acknowledged is there."""
    assert tracing_problem() is None
    disk = tmp_path / "disk"
    disk.mkdir()
    trace = crash.record(publish, disk, "new", root=disk)
    for model in (STRICT_DISK, EXT4_LIKE_DISK):
        found = []
        for number, state in enumerate(trace.power_cuts(model=model)):
            report = state.materialise(tmp_path / f"{model.name}-{number}") / "report"
            found.append(report.read_text() if report.exists() else None)
            assert found[-1] == "new" or "new" not in state.acknowledged, str(state)
        assert {None, "new"} == set(found)


# Histories, contracts, strategies.


class Careless:
    """Lists in one file, read and written back without a lock."""

    def __init__(self, folder, worker):
        """Work in that folder."""
        self.folder, self.name = Path(folder), worker.process

    def transact(self, ops, branch):  # noqa: ARG002 - there are no branches here
        """Do all operations."""
        path = self.folder / "lists.json"
        lists = json.loads(path.read_text()) if path.exists() else {}
        values = []
        for op in ops:
            known = lists.setdefault(str(op.key), [])
            values.append(None if isinstance(op, Append) else known[:])
            if isinstance(op, Append):
                known.append(op.element)
        aside = self.folder / f"{self.name}.tmp"
        aside.write_text(json.dumps(lists))
        aside.replace(path)
        return values


class Careful(Careless):
    """The same under a lock that the kernel releases when its holder dies."""

    def transact(self, ops, branch):
        """Do all operations, alone."""
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return super().transact(ops, branch)


WORKLOAD = Workload(("people", "places"), seed=1, rotate_after=50)


def test_histories(tmp_path):
    """The careless store is found out; the careful one has a serial order, though workers die."""
    for name in ("careless", "careful"):
        (tmp_path / name).mkdir()
    journals = tmp_path / "journals"
    careless = run(
        partial(Careless, tmp_path / "careless"),
        WORKLOAD,
        directory=journals / "1",
        transactions=400,
    )
    assert AnomalyKind.LOST_UPDATE in check(careless).kinds
    careful = run(
        partial(Careful, tmp_path / "careful"),
        WORKLOAD,
        directory=journals / "2",
        transactions=400,
        kills=Kills(seed=1, every=(0.5, 1.0), most=1),
    )
    write_history(careful, tmp_path / "history")
    report = check(read_history(tmp_path / "history"))
    assert report.ok, str(report)


def test_a_history_of_refs(tmp_path):
    """Calls that were recorded are linearizable; with a reading of what is gone they are not."""
    refs = JsonRefs.in_memory()
    with RefRecorder(tmp_path / "w0.ndjson", "w0") as recorder:
        for write_id in ("a", "b"):
            found = refs.get("main")
            action = RefAction.CREATE if found is None else RefAction.REPLACE

            def write(found=found, write_id=write_id):
                if found is None:
                    refs.create("main", {}, write_id=write_id)
                else:
                    refs.replace(found, {}, write_id=write_id)
                return RefAnswer(Outcome.OK)

            expected = None if found is None else found.write_id
            recorder.call(action, "main", write, wrote=write_id, expected=expected)
        assert check_refs(read_ref_journals(tmp_path)).ok
        recorder.call(RefAction.GET, "main", lambda: RefAnswer(Outcome.OK, "a"))
    assert check_refs(read_ref_journals(tmp_path)).kinds == {AnomalyKind.STALE_READ}


class TestRefs(RefStoreContract):
    """The contract suite, over refs on local disk."""

    examples = 5

    @pytest.fixture
    def refs(self, tmp_path):
        """Give an empty store."""
        return JsonRefs.open(tmp_path, "_refs", durability="none")


class TestRepositories(RepositoryContract):
    """The contract suite, over a repository on local disk."""

    examples = 1

    @pytest.fixture
    def repository(self, tmp_path):
        """Make an empty one."""
        return Repository.init(tmp_path / "repo", SCHEMA, durability="none")

    @pytest.fixture
    def reopened(self, tmp_path):
        """Open it again."""
        return lambda: Repository.open(tmp_path / "repo", durability="none")

    @pytest.fixture
    def fresh(self, tmp_path):
        """Make one after the other."""
        names = iter(range(1_000_000))

        def made(schema):
            place = tmp_path / f"graph-{next(names)}"
            first = Repository.init(place, schema, durability="none")
            return first, Repository.open(place, durability="none")

        return made


def test_a_table_that_decides_versions(dynamodb_server, dynamodb_table):
    """It is on the server, under a name of its own."""
    assert dynamodb_table.storage_options == {"dynamodb_endpoint": dynamodb_server.endpoint}
    assert dynamodb_table.name


def test_a_small_repository(omnigraph_repo):
    """It is there, with rows in it."""
    assert omnigraph_repo.snapshot().read("edge:Lives").num_rows == 2


@settings(deadline=None)
@given(tables(schemas("node"), max_rows=5), branch_names())
def test_strategies(table, branch):
    """What is drawn has the ids that it should have."""
    assert len(set(table["id"].to_pylist())) == table.num_rows
    assert branch


@settings(deadline=None)
@given(histories())
def test_drawn_histories(history):
    """They have a serial order, and the checker finds it."""
    report = check(history)
    assert report.ok, str(report)
