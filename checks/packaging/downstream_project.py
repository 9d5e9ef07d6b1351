"""A project elsewhere: ``omnigraph-testing[graph,s3,moto]`` is installed, nothing configured.

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
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2 import Repository
from omnigraph_testing import (
    Answer,
    AtMoment,
    AtPoint,
    AtRequest,
    BudgetExceeded,
    CutReply,
    FaultyStore,
    NeverKilled,
    Rule,
    StaleListing,
    mark,
    start_faulty_s3,
)
from omnigraph_testing.contracts.refs import RefStoreContract
from omnigraph_testing.contracts.repositories import SCHEMA, RepositoryContract
from omnigraph_testing.histories import (
    AnomalyKind,
    Append,
    Kills,
    Workload,
    check,
    read_history,
    run,
    write_history,
)
from omnigraph_testing.strategies import branch_names, histories, schemas, tables

ROWS = pa.table({"a": [1, 2, 3]})


# A store, and one that fails.


def test_a_real_s3_server(omnigraph_s3_server, s3_store):
    """Lance and obstore work with it; each store is a location of its own."""
    uri, options = s3_store.uri("t.lance"), s3_store.storage_options
    lance.write_dataset(ROWS, uri, storage_options=options)
    assert lance.dataset(uri, storage_options=options).count_rows() == 3
    assert omnigraph_s3_server.store().obstore().list().collect() == []


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


# Processes that are killed, and disks that lose power.

WRITTEN = declare("downstream.written", "the new report is whole, under another name")


def publish(location, text):
    """Write a report aside, and give it its name."""
    aside = Path(location) / "report.new"
    with aside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    failpoint(WRITTEN)
    aside.rename(Path(location) / "report")
    folder = os.open(location, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    mark(text)


def prepare(location):
    """Leave an old report."""
    publish(location, "old")
    return location, "new"


def upload(uri, options):
    """Write two objects."""
    store = from_url(uri, **options)
    store.put("one", b"1")
    store.put("two", b"2")


def test_killed_at_a_failpoint(omnigraph_crash, tmp_path):
    """The old report is there, and the new one is not."""
    publish(tmp_path, "old")
    outcome = omnigraph_crash.run(publish, tmp_path, "new", kill=AtPoint(WRITTEN))
    assert outcome.killed
    assert (tmp_path / "report").read_text() == "old"
    assert omnigraph_crash.points(publish, tmp_path, "newer") == (WRITTEN,)
    with pytest.raises(NeverKilled):
        omnigraph_crash.run(publish, tmp_path, "newer", kill=AtPoint(WRITTEN, hit=2))


@pytest.mark.parametrize(("at", "left"), [("before", ["one"]), ("after", ["one", "two"])])
def test_killed_at_a_request(omnigraph_crash, faulty_s3, s3_store, at, left):
    """At its second request, which the store has not seen yet, or has carried out."""
    kill = AtRequest(faulty_s3, 2, method="PUT", at=at)
    assert omnigraph_crash.run(
        upload, faulty_s3.uri("d"), faulty_s3.obstore_kwargs, kill=kill
    ).killed
    assert sorted(each["path"] for each in s3_store.obstore("d").list().collect()) == left


def test_killed_at_some_moment(omnigraph_crash, tmp_path):
    """The report is the old one or the new one."""
    publish(tmp_path, "old")
    omnigraph_crash.run(publish, tmp_path, "new", kill=AtMoment(1, within=0.05))
    assert (tmp_path / "report").read_text() in {"old", "new"}


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


WORKLOAD = Workload(("people", "locations"), seed=1, rotate_after=50)


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


class TestRefs(RefStoreContract):
    """The contract suite, over refs on local disk."""

    examples = 5

    @pytest.fixture
    def refs(self, tmp_path):
        """Return an empty store."""
        return JsonRefs.open(tmp_path, "_refs", durability="none")


class TestRepositories(RepositoryContract):
    """The contract suite, over a repository on local disk."""

    @pytest.fixture
    def repository(self, tmp_path):
        """Make an empty one."""
        return Repository.init(tmp_path / "repo", SCHEMA, durability="none")

    @pytest.fixture
    def reopened(self, tmp_path):
        """Open it again."""
        return lambda: Repository.open(tmp_path / "repo", durability="none")


def test_a_table_that_decides_versions(omnigraph_dynamodb_server, omnigraph_dynamodb_table):
    """It is on the server, under a name of its own."""
    assert omnigraph_dynamodb_table.storage_options == {
        "dynamodb_endpoint": omnigraph_dynamodb_server.endpoint
    }
    assert omnigraph_dynamodb_table.name


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
