"""Verify finds nothing in what was done by the rules, whatever it was, and while it is done."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
import pyarrow as pa
import pytest
from damagework import COMPANY, KNOWS, PERSON, SCHEMA, append, fill, kinds, later, work
from killing import killed_at, steps_of
from sizes import commit_seed, sized

from omnigraph_l2 import GraphSchema, NodeType, Repository, Transaction
from omnigraph_l2.errors import Conflict, OmniGraphError
from omnigraph_testing import Crash, S3Store

sys.path.insert(0, str(Path(__file__).parent.parent / "opening"))

from other_publisher import OtherPublisher

DEADLINE = 60
ENOUGH = 10
SEED = 3
SEEDS = sized([commit_seed()], [*range(4), commit_seed()])
STEPS = sized(12, 25)
LEFT_BY_DESIGN = {"branch-closed", "branch-left-over", "log-behind", "pointer-behind"}


@attrs.define
class History:
    """Random work on a repository, by two handles."""

    handles: tuple[Repository, Repository]
    draw: random.Random
    count: int = 0

    @property
    def repo(self) -> Repository:
        """One of the handles."""
        return self.draw.choice(self.handles)

    def branch(self) -> str:
        """One of the branches."""
        return self.draw.choice([each.name for each in self.repo.branches.list()])

    def fresh(self, word: str) -> str:
        """A name that was never used."""
        self.count += 1
        return f"{word}{self.count}"

    def source(self) -> str:
        """A branch, a tag or a commit."""
        tags = [each.name for each in self.repo.tags.list()]
        commits = [each.graph_commit_id for each in self.repo.log(self.branch(), limit=5)]
        return self.draw.choice([self.branch(), *tags, *commits])

    def write(self) -> None:
        """Change rows."""
        with self.repo.transaction(self.branch(), actor=self.draw.choice([None, "ann"])) as tx:
            self._rows(tx)

    def _rows(self, tx: Transaction) -> None:
        one, two = self.fresh("p"), self.fresh("p")
        tx.append(PERSON, [{"id": one, "mail": one}, {"id": two}])
        if self.draw.random() < 0.5:
            tx.append(KNOWS, [{"id": self.fresh("e"), "src": one, "dst": two}])
        if self.draw.random() < 0.3:
            tx.overwrite(COMPANY, [{"id": self.fresh("c")}])
        if self.draw.random() < 0.3:
            tx.delete(KNOWS, "true")

    def make_branch(self) -> None:
        """Start a branch somewhere."""
        self.repo.branches.create(self.fresh("b"), self.source())

    def delete_branch(self) -> None:
        """Delete one, needed or not."""
        name = self.branch()
        if name != "main":
            self.repo.branches.delete(name, force=self.draw.random() < 0.7)

    def tag(self) -> None:
        """Tag something."""
        self.repo.tags.create(self.fresh("t"), self.source())

    def untag(self) -> None:
        """Delete a tag."""
        tags = self.repo.tags.list()
        if tags:
            self.repo.tags.delete(self.draw.choice(tags).name)

    def merge(self) -> None:
        """Merge two branches."""
        self.repo.branches.merge(self.branch(), self.branch(), strategy="theirs")

    def revert(self) -> None:
        """Revert something."""
        branch = self.branch()
        commit = self.draw.choice(self.repo.log(branch, limit=3))
        self.repo.revert(commit.graph_commit_id, branch, strategy="ours")

    def run(self) -> None:
        """Work in a run, and publish it, give it up, or leave it."""
        run = self.repo.runs.begin(self.branch(), operation_hash=self.fresh("op"))
        with run.transaction() as tx:
            self._rows(tx)
        end: Callable[[], object] = self.draw.choice([run.publish, run.abort, lambda: None])
        end()

    def evolve(self) -> None:
        """Add a type or a property."""
        branch = self.branch()
        now = self.repo.snapshot(branch).schema
        if self.draw.random() < 0.5:
            nodes = [*now.nodes, NodeType(self.fresh("Type"), {"x": pa.int64()})]
        else:
            nodes = [
                attrs.evolve(each, properties={**each.properties, self.fresh("x"): pa.int64()})
                if each.name == "Company"
                else each
                for each in now.nodes
            ]
        self.repo.evolve(GraphSchema(nodes=nodes, edges=now.edges), branch=branch)

    def step(self) -> None:
        """Do something; what is refused is refused as a whole."""
        usual = [self.write] * 5
        rare = [
            self.make_branch, self.delete_branch, self.tag, self.untag, self.merge, self.revert,
            self.run, self.evolve,
        ]  # fmt: skip
        with suppress(OmniGraphError):
            self.draw.choice([*usual, *rare])()


@contextmanager
def two_handles(location: Path) -> Iterator[tuple[Repository, Repository]]:
    """Make a repository, and open it twice."""
    with (
        Repository.init(location, SCHEMA, durability="none") as one,
        Repository.open(location, durability="none") as other,
    ):
        yield one, other


@pytest.mark.parametrize("seed", SEEDS)
def test_after_any_history(tmp_path: Path, seed: int) -> None:
    """Neither an error nor a warning; and nothing at all once the log is complete."""
    with two_handles(tmp_path / "repo") as handles:
        history = History(handles, random.Random(seed))
        for _ in range(3):
            for _ in range(STEPS):
                history.step()
            report = handles[0].verify(dangling_edges=True, values=True)
            assert report.ok, str(report)
            assert set(kinds(report)) <= LEFT_BY_DESIGN, str(report)
        for handle in handles:
            handle.flush()
        repaired = handles[0].repair(dry_run=False)
        assert repaired.ok, str(repaired)
        report = handles[1].verify(dangling_edges=True)
        assert set(kinds(report)) <= {"branch-left-over"}, str(report)


def test_while_others_write(tmp_path: Path) -> None:
    """Nothing is taken for damage that somebody is about to complete."""
    with two_handles(tmp_path / "repo") as (one, other):
        stop = threading.Event()

        def work(number: int) -> None:
            with Repository.open(tmp_path / "repo", durability="none") as mine:
                turn = 0
                while not stop.is_set():
                    turn += 1
                    try:
                        append(mine, f"w{number}-{turn}")
                        mine.branches.create(f"b{number}-{turn}")
                        append(mine, "new", branch=f"b{number}-{turn}")
                        mine.tags.create(f"t{number}-{turn}", f"b{number}-{turn}")
                        mine.tags.delete(f"t{number}-{turn}")
                        mine.branches.delete(f"b{number}-{turn}")
                    except Conflict:
                        continue

        workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for worker in workers:
            worker.start()
        try:
            reports = [other.verify(dangling_edges=True) for _ in range(10)]
            while len(one.log()) <= ENOUGH and any(worker.is_alive() for worker in workers):
                reports.append(other.verify(dangling_edges=True))
        finally:
            stop.set()
            for worker in workers:
                worker.join(DEADLINE)
        assert all(set(kinds(report)) <= LEFT_BY_DESIGN for report in reports), [
            str(report) for report in reports if not report.ok
        ]
        assert len(one.log()) > ENOUGH


@pytest.mark.parametrize("version", [1, 2])
def test_a_repository_of_another_publisher(tmp_path: Path, version: int) -> None:
    """Nothing is missing that it never had, before and after we publish to it."""
    other = OtherPublisher(tmp_path)
    other.create(version=version)
    other.publish("node:Person", [{"id": "a", "name": "Ann"}], "theirs")
    with Repository.open(tmp_path) as repo:
        assert repo.verify(dangling_edges=True).findings == ()
        assert repo.repair().actions == ()
        with repo.transaction() as tx:
            tx.append(PERSON, [{"id": "b"}])
        repo.flush()
        assert repo.verify(dangling_edges=True).findings == ()
        other.publish("node:Person", [{"id": "c", "name": "Cat"}], "again")
        assert repo.verify(dangling_edges=True).findings == ()
        repo.branches.create("side")
        repo.tags.create("v1")
        assert repo.verify(dangling_edges=True).findings == ()


@pytest.mark.integration
@pytest.mark.parametrize("crashes", [4, pytest.param(24, marks=pytest.mark.slow)])
def test_after_any_crash(omnigraph_crash: Crash, crashes: int) -> None:
    """What a killed process leaves is what the next one completes, or what repair removes."""
    steps = random.Random(SEED).sample(steps_of(omnigraph_crash, work, fill), crashes)
    for point, (uri,) in killed_at(omnigraph_crash, work, fill, steps):
        with Repository.open(uri, durability="none") as repo:
            report = repo.verify(dangling_edges=True)
            assert set(kinds(report)) <= LEFT_BY_DESIGN, f"{point}: {report}"
            repaired = later(repo).repair(dry_run=False)
            assert repaired.ok, f"{point}: {repaired}"
            left = repo.verify(dangling_edges=True)
            assert left.findings == (), f"{point}: {left}"


@pytest.mark.integration
def test_in_a_store(s3_store: S3Store) -> None:
    """The same where versions are objects."""
    with Repository.init(s3_store.uri("repo"), SCHEMA, s3_store.storage_options) as repo:
        append(repo, "ann", actor="ann")
        repo.branches.create("side")
        append(repo, "bob", branch="side")
        repo.tags.create("v1", "side")
        repo.branches.delete("side", force=True)
        repo.flush()
        assert repo.verify(dangling_edges=True, values=True).findings == ()
        entry = repo.snapshot().tables[PERSON]
        store = s3_store.obstore()
        listed = store.list(f"repo/{entry.table_path}/data/").collect()
        store.delete(listed[0]["path"])
        assert set(kinds(repo.verify())) == {"data-unreadable"}
        assert [each.kind for each in repo.repair(dry_run=False).not_mended] == ["data-unreadable"]
