"""Repositories that the original program works on: they are read, and every write is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import pytest
from other_publisher import OtherPublisher
from repositories import SCHEMA

from omnigraph_l1 import new_ulid
from omnigraph_l2 import GraphSchema, NodeType, Repository, TableTombstone
from omnigraph_l2.errors import ForeignRepository, SchemaChangeInProgress
from omnigraph_testing import S3Store

FILES = ["_schema.pg", "_schema.ir.json", "__schema_state.json"]
AUTO_CLEANUP = {"lance.auto_cleanup.interval": "20", "lance.auto_cleanup.older_than": "14d"}
PERSON = "node:Person"


def append(repo: Repository, branch: str = "main") -> None:
    """Write one row."""
    with repo.transaction(branch) as tx:
        tx.append(PERSON, [{"id": new_ulid()}])


def run(repo: Repository) -> None:
    """Begin a run."""
    repo.runs.begin(operation_hash="load")


WRITES: dict[str, Callable[[Repository], object]] = {
    "a transaction": append,
    "a publish": lambda repo: repo.publish([TableTombstone(table_key=PERSON, table_version=99)]),
    "a new branch": lambda repo: repo.branches.create("other"),
    "a branch deleted": lambda repo: repo.branches.delete("side"),
    "a merge": lambda repo: repo.branches.merge("side"),
    "a revert": lambda repo: repo.revert(repo.log()[0].graph_commit_id),
    "a tag": lambda repo: repo.tags.create("v2"),
    "a tag deleted": lambda repo: repo.tags.delete("v1"),
    "a run": run,
    "the end of a run": lambda repo: repo.runs.list()[0].abort(),
    "a publish of a run": lambda repo: repo.runs.list()[0].publish(),
    "an evolution": lambda repo: repo.evolve(GraphSchema(nodes=[NodeType("Pet")])),
    "optimize": lambda repo: repo.optimize(),
    "optimize of no table": lambda repo: repo.optimize([]),
    "cleanup": lambda repo: repo.cleanup(timedelta(0), dry_run=False),
    "repair": lambda repo: repo.repair(dry_run=False),
    "migrate": lambda repo: repo.migrate(dry_run=False),
}


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """A repository of ours, with rows, a branch, a tag and a run."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(PERSON, [{"id": "a"}])
        repo.branches.create("side")
        append(repo, "side")
        repo.tags.create("v1")
        repo.runs.begin()
    return tmp_path / "repo"


def configure(dataset: Path) -> None:
    """Let Lance delete old versions by itself, as the original program does."""
    lance.dataset(str(dataset)).update_config(AUTO_CLEANUP)


def files_of(location: Path) -> list[str]:
    """List everything that is there, but leases."""
    found = (str(path.relative_to(location)) for path in location.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.startswith("_refs/leases/"))


@pytest.mark.parametrize("write", WRITES)
def test_each_write_is_refused_and_changes_nothing(location: Path, write: str) -> None:
    """The error names what was found, and where to read on."""
    (location / "_schema.pg").write_text("node Person {}")
    if write == "migrate":
        _make_older(location)
    before = files_of(location)
    with Repository.open(location, durability="none") as repo:
        with pytest.raises(ForeignRepository, match="upgrading") as raised:
            WRITES[write](repo)
        assert raised.value.kind == "foreign_repository"
        assert raised.value.location == str(location)
        assert raised.value.files == ("_schema.pg",)
        assert raised.value.datasets == ()
        assert repo.snapshot().read(PERSON).num_rows == 1
    assert files_of(location) == before


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_found(location: Path, name: str) -> None:
    """Any one of them is enough; without it the repository is written again."""
    (location / name).write_text("{}")
    with Repository.open(location, durability="none") as repo:
        with pytest.raises(ForeignRepository) as raised:
            append(repo)
        assert raised.value.files == (name,)
        (location / name).unlink()
        append(repo)
        assert repo.snapshot().read(PERSON).num_rows == 2


@pytest.mark.parametrize("write", ["a transaction", "a publish", "a merge", "a tag", "cleanup"])
def test_a_file_that_comes_later(location: Path, write: str) -> None:
    """A handle that has published before refuses from then on."""
    with Repository.open(location, durability="none") as repo:
        append(repo)
        (location / "_schema.pg").write_text("node Person {}")
        with pytest.raises(ForeignRepository) as raised:
            WRITES[write](repo)
        assert raised.value.files == ("_schema.pg",)
        assert repo.snapshot().read(PERSON).num_rows == 2


def test_a_lock_that_comes_later(location: Path) -> None:
    """While the original program changes the schema, nothing is published."""
    with Repository.open(location, durability="none") as repo:
        append(repo)
        catalog = lance.dataset(str(location / "__manifest"))
        catalog.create_branch("__schema_apply_lock__")
        with pytest.raises(SchemaChangeInProgress):
            append(repo)
        catalog.branches.delete("__schema_apply_lock__")
        append(repo)


@pytest.mark.parametrize("path", ["_graph_commits.lance", "_graph_commit_actors.lance"])
def test_a_log_that_lance_cleans_up(location: Path, path: str) -> None:
    """It follows each publish, so that nothing is published."""
    configure(location / path)
    with Repository.open(location, durability="none") as repo:
        log = repo.log()
        with pytest.raises(ForeignRepository) as raised:
            append(repo)
        assert raised.value.datasets == (path,)
        assert repo.log() == log


@pytest.mark.integration
def test_a_config_at_a_newer_head_in_a_store(s3_store: S3Store) -> None:
    """Lance would go by it, and delete versions that a tag needs, on our own commit."""
    uri, options = s3_store.uri("graph"), s3_store.storage_options
    with Repository.init(uri, SCHEMA, storage_options=options) as repo:
        append(repo)
        repo.tags.create("t")
        append(repo)
        path = repo.snapshot().tables[PERSON].table_path
        dataset = lance.dataset(f"{uri}/{path}", storage_options=options)
        after_next = str(dataset.version + 2)  # so that not this very change cleans up
        dataset.update_config(
            {"lance.auto_cleanup.interval": after_next, "lance.auto_cleanup.older_than": "0s"}
        )
        versions = len(dataset.versions())
    with Repository.open(uri, storage_options=options) as repo:
        with pytest.raises(ForeignRepository) as raised:
            append(repo)
        assert raised.value.datasets == (path,)
        assert repo.snapshot(tag="t").read(PERSON).num_rows == 1
        assert len(lance.dataset(f"{uri}/{path}", storage_options=options).versions()) == versions


def test_what_only_reads_is_allowed(location: Path) -> None:
    """Also what only shows what would be done."""
    (location / "_schema.pg").write_text("node Person {}")
    with Repository.open(location, durability="none") as repo:
        assert repo.snapshot("side").read(PERSON).num_rows == 2
        assert repo.snapshot(tag="v1").read(PERSON).num_rows == 1
        assert repo.diff("main", "side").tables[PERSON].inserted == 1
        assert len(repo.log("side")) == 3
        assert repo.branches.merge("side", dry_run=True).tables[PERSON].inserted == 1
        assert not repo.plan_evolution(GraphSchema(nodes=[NodeType("Pet")])).is_empty
        assert repo.publish([], expected_table_versions={}) is None
        assert repo.verify().ok
        assert repo.repair().ok
        repo.cleanup()


@pytest.mark.parametrize("write", ["a transaction", "a new branch", "a tag", "cleanup"])
def test_a_catalog_that_lance_cleans_up(location: Path, write: str) -> None:
    """Lance would delete versions that branches, tags and leases need."""
    configure(location / "__manifest")
    with Repository.open(location, durability="none") as repo:
        with pytest.raises(ForeignRepository) as raised:
            WRITES[write](repo)
        assert (raised.value.files, raised.value.datasets) == ((), ("__manifest",))
        assert repo.snapshot().read(PERSON).num_rows == 1


def test_a_catalog_that_gets_such_a_config_later(location: Path) -> None:
    """A handle that has published before refuses from then on."""
    with Repository.open(location, durability="none") as repo:
        append(repo)
        configure(location / "__manifest")
        repo.snapshot()
        with pytest.raises(ForeignRepository):
            append(repo)
        assert repo.snapshot().read(PERSON).num_rows == 2


@pytest.mark.parametrize("write", ["a transaction", "an evolution", "a merge"])
def test_a_table_that_gets_such_a_config_later(location: Path, write: str) -> None:
    """Nothing is committed on top of it, and nothing published."""
    with Repository.open(location, durability="none") as repo:
        append(repo)
        path = repo.snapshot().tables[PERSON].table_path
        configure(location / path)
        head = lance.dataset(str(location / path)).version
        log = repo.log()
        wanted = GraphSchema(nodes=[NodeType("Person")])
        act = (lambda each: each.evolve(wanted)) if write == "an evolution" else WRITES[write]
        with pytest.raises(ForeignRepository) as raised:
            act(repo)
        assert (raised.value.location, raised.value.datasets) == (str(location), (path,))
        assert repo.log() == log
    assert lance.dataset(str(location / path)).version == head


def test_a_repository_of_the_original_program(tmp_path: Path) -> None:
    """As that program leaves it: it is read without a trace, and not written to."""
    original = OtherPublisher(tmp_path / "repo")
    original.create()
    original.publish(PERSON, [{"id": "a", "name": "Ann"}], "first")
    (original.root / "_schema.pg").write_text("node Person {}")
    (original.root / "_refs").mkdir()
    configure(original.root / "__manifest")
    before = sorted(original.root.rglob("*"))
    with Repository.open(original.root) as repo:
        assert repo.snapshot().read(PERSON).to_pylist() == original.read(PERSON)
        assert [each.graph_commit_id for each in repo.log()] == ["first", "genesis"]
        with pytest.raises(ForeignRepository) as raised:
            append(repo)
        assert raised.value.files == ("_schema.pg",)
        assert raised.value.datasets == ("__manifest",)
    assert sorted(original.root.rglob("*")) == before


def test_nothing_is_published_while_the_schema_lock_exists(tmp_path: Path) -> None:
    """The lock is a branch of the catalog: reading goes on, publishing is refused."""
    other = OtherPublisher(tmp_path / "repo")
    other.create()
    other.manifest().create_branch("__schema_apply_lock__")
    with Repository.open(other.root) as repo:
        assert repo.snapshot().read(PERSON).num_rows == 0
        with pytest.raises(SchemaChangeInProgress):
            append(repo)
        other.manifest().branches.delete("__schema_apply_lock__")
        append(repo)
    assert len(other.read(PERSON)) == 1


def _make_older(location: Path) -> None:
    """Take the stamp of the internal schema version away."""
    catalog = lance.dataset(str(location / "__manifest"))
    catalog.update_schema_metadata({"omnigraph:internal_schema_version": None})
