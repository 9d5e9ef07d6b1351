"""The batch publisher itself: for those who write Lance datasets by other means."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from each_store import EACH_STORE, location_in

from omnigraph_l1 import Storage, Table, list_objects, table_path
from omnigraph_l2 import (
    GraphSchema,
    NodeType,
    RegisterTable,
    Repository,
    RunStatus,
    TableTombstone,
    TableUpdate,
)
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidChange,
    InvalidRequest,
    InvalidSchema,
    OmniGraphError,
    UnknownTable,
)

A, B = "node:A", "node:B"
ROW = pa.schema([pa.field("id", pa.string(), nullable=False)])


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with one empty table."""
    schema = GraphSchema(nodes=[NodeType("A")])
    with Repository.init(tmp_path / "repo", schema, durability="none") as made:
        yield made


def written(repo: Repository, table_key: str, *names: str) -> TableUpdate:
    """Append to a table's dataset by plain lance, or make it; give what would publish it."""
    path = Path(repo.uri) / table_path(table_key)
    mode = "append" if path.exists() else "create"
    rows = pa.table({"id": list(names)}, schema=ROW)
    dataset = lance.write_dataset(
        rows,
        str(path),
        mode=mode,
        data_storage_version="2.2",
        enable_stable_row_ids=True,
        enable_v2_manifest_paths=True,
    )
    return TableUpdate(
        table_key=table_key, table_version=dataset.version, row_count=dataset.count_rows()
    )


def register(table_key: str, path: str | None = None) -> RegisterTable:
    """Register a table."""
    return RegisterTable(table_key=table_key, table_path=path or table_path(table_key))


def test_several_tables_as_one_commit(repo: Repository) -> None:
    """All of them become visible together, and what other readers need is filled in."""
    changes = [register(B), written(repo, B, "x"), written(repo, A, "y", "z")]
    commit = repo.publish(changes, actor="ann", message="by hand")
    assert commit is not None
    assert (commit.actor_id, commit.message) == ("ann", "by hand")
    snapshot = repo.snapshot()
    assert snapshot.commit == commit
    assert snapshot.read(A)["id"].to_pylist() == ["y", "z"]
    assert snapshot.read(B)["id"].to_pylist() == ["x"]
    rows = lance.dataset(f"{repo.uri}/__manifest").to_table().to_pylist()
    facts = [json.loads(row["metadata"]) for row in rows if row["object_type"] == "table_version"]
    assert len(facts) == 3
    for each in facts:
        assert Path("/", each["manifest_path"]).is_file()
        assert each["naming_scheme"] == "V2"


def test_expectations(repo: Repository) -> None:
    """They hold for tables that are written and for others, absent ones are at 0."""
    for number, expected in enumerate(({A: 2}, {A: 0}, {B: 1}, {A: 1, B: 7})):
        change = written(repo, A, f"x{number}")
        with pytest.raises(ExpectedVersionMismatch) as raised:
            repo.publish([change], expected_table_versions=expected)
        assert raised.value.actual == {A: 1, B: 0}[raised.value.table_key]
    change = written(repo, A, "y")
    assert repo.publish([change], expected_table_versions={A: 1, B: 0}) is not None


@pytest.mark.parametrize("expected", [None, {}])
def test_best_effort(repo: Repository, expected: dict[str, int] | None) -> None:
    """Without expectations it is published onto whatever is there."""
    for name in ("x", "y"):
        change = written(repo, A, name)
        assert repo.publish([change], expected_table_versions=expected) is not None
    assert repo.snapshot().read(A).num_rows == 2


def test_expectations_alone(repo: Repository) -> None:
    """They are checked, and nothing is written; without them nothing is done at all."""
    before = repo.snapshot().version
    assert repo.publish([], expected_table_versions={A: 1, B: 0}) is None
    assert repo.publish([]) is None
    with pytest.raises(ExpectedVersionMismatch):
        repo.publish([], expected_table_versions={A: 2})
    assert repo.snapshot().version == before
    assert len(repo.log()) == 1


def test_dropping_and_coming_back(repo: Repository) -> None:
    """A tombstone covers what is up to it; the table comes back above it."""
    assert repo.publish([TableTombstone(table_key=A, table_version=2)]) is not None
    assert A not in repo.snapshot().tables
    with pytest.raises(UnknownTable):
        repo.snapshot().read(A)
    with pytest.raises(ExpectedVersionMismatch):
        repo.publish([], expected_table_versions={A: 1})
    assert repo.publish([], expected_table_versions={A: 0}) is None
    written(repo, A, "w")
    change = written(repo, A, "x")
    assert repo.publish([change], expected_table_versions={A: 0}) is not None
    assert repo.snapshot().read(A).num_rows == 2
    genesis = repo.log()[-1]
    assert A in repo.snapshot(commit=genesis.graph_commit_id).tables


def test_a_drop_at_the_visible_version_itself(repo: Repository) -> None:
    """It hides the table, which is at no version then; a transaction that saw it is refused."""

    def dropped_meanwhile() -> None:
        with repo.transaction() as tx:
            tx.append(A, [{"id": "late"}])
            repo.publish([TableTombstone(table_key=A, table_version=1)])

    with pytest.raises(ExpectedVersionMismatch, match="no visible version"):
        dropped_meanwhile()
    assert A not in repo.snapshot().tables
    with pytest.raises(ExpectedVersionMismatch):
        repo.publish([], expected_table_versions={A: 1})
    assert repo.publish([], expected_table_versions={A: 0}) is None


REFUSED: list[tuple[type[OmniGraphError], Callable[[Repository], list[Any]]]] = [
    (InvalidChange, lambda repo: [written(repo, B, "x")]),
    (InvalidChange, lambda repo: [TableTombstone(table_key=B, table_version=1)]),
    (InvalidChange, lambda repo: [TableUpdate(table_key=A, table_version=1, row_count=0)]),
    (InvalidChange, lambda repo: [TableUpdate(table_key=A, table_version=0, row_count=0)]),
    (InvalidChange, lambda repo: [written(repo, A, "x")] * 2),
    (InvalidChange, lambda repo: [TableTombstone(table_key=A, table_version=0)]),
    (InvalidChange, lambda repo: [TableTombstone(table_key=A, table_version=2)] * 2),
    (InvalidChange, lambda repo: [register(A, "nodes/elsewhere")]),
    (InvalidChange, lambda repo: [register(B, "../outside")]),
    (InvalidChange, lambda repo: [register(B), register(B)]),
    (InvalidChange, lambda repo: [register("node:B$", "nodes/x")]),
    (InvalidSchema, lambda repo: [register("node:a")]),
    (InvalidRequest, lambda repo: ["x"]),
    (InvalidRequest, lambda repo: "x"),  # type: ignore[arg-type, return-value]
    (InvalidRequest, lambda repo: 5),  # type: ignore[arg-type, return-value]
    (InvalidRequest, lambda repo: {A: 1}),  # type: ignore[arg-type, return-value]
]


@pytest.mark.parametrize(("kind", "changes"), REFUSED, ids=range(len(REFUSED)))
def test_refused(
    repo: Repository, kind: type[OmniGraphError], changes: Callable[[Repository], list[Any]]
) -> None:
    """Nothing is written, and the next publish goes on."""
    before = repo.snapshot()
    with pytest.raises(OmniGraphError) as raised:
        repo.publish(changes(repo))
    assert type(raised.value) is kind
    assert repo.snapshot().tables == before.tables
    assert repo.publish([written(repo, A, "after")]) is not None


def test_a_bad_caller_harms_nobody(repo: Repository) -> None:
    """Words that cannot be kept are refused before anything is written."""
    for words in ({"actor": 5}, {"message": "\ud800"}):
        with pytest.raises(InvalidRequest):
            repo.publish([written(repo, A, "x")], **words)  # type: ignore[arg-type]
    assert len(repo.log()) == 1


def test_commits_after_one_at_the_end_of_time(repo: Repository) -> None:
    """A wrong clock, or another publisher, makes nothing fail that comes later."""
    clock = repo._clock
    repo._clock = lambda: datetime.max.replace(tzinfo=timezone.utc)
    repo.publish([written(repo, A, "x")])
    run = repo.runs.begin()
    repo._clock = clock
    repo.branches.create("side")
    repo.publish([written(repo, A, "y")], message="last")
    run.abort()
    with repo.transaction("side") as tx:
        tx.append(A, [{"id": "z"}])
    repo.branches.merge("side")
    repo.flush()
    with Repository.open(repo.uri, durability="none") as other:
        assert sorted(other.snapshot().read(A)["id"].to_pylist()) == ["x", "y", "z"]
        assert [each.message for each in other.log()][1] == "last"
        assert other.runs.get(run.run_id).status is RunStatus.ABORTED
        assert other.verify().ok


@pytest.fixture(params=EACH_STORE)
def anywhere(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Repository, Storage]]:
    """The same in each kind of store, opened by a handle that did not make it."""
    schema = GraphSchema(nodes=[NodeType("A")])
    uri, options = location_in(request, tmp_path)
    Repository.init(uri, schema, storage_options=options, durability="none").close()
    with Repository.open(uri, storage_options=options, durability="none") as opened:
        yield opened, Storage.resolve(uri, options)


def test_a_dataset_with_version_names_of_the_old_kind(
    anywhere: tuple[Repository, Storage],
) -> None:
    """The catalog says which file it is, and by which kind of name; on a branch the names are new.

    That of another table is not taken for it.
    """
    repo, storage = anywhere
    lance.write_dataset(
        pa.table({"id": ["x"]}, schema=ROW),
        storage.child(table_path(B)).location.uri,
        data_storage_version="2.2",
        enable_stable_row_ids=True,
        enable_v2_manifest_paths=False,
        storage_options=storage.lance_options,
    )
    repo.publish([register(B), TableUpdate(table_key=B, table_version=1, row_count=1)])
    with repo.transaction() as tx:
        tx.append(B, [{"id": "y"}])
        tx.append(A, [{"id": "z"}])
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        tx.append(B, [{"id": "b"}])
    files = {f"{storage.location.key}/{each.name}" for each in list_objects(storage)}
    manifest = storage.child("__manifest")
    lineages = (None, *Table.open(manifest).branch_names())
    found = {key: [_recorded(manifest, branch, key) for branch in lineages] for key in (A, B)}
    for each in (*found[A], *found[B]):
        assert {path for path, _ in each} <= files
    kinds = {key: [[kind for _, kind in each] for each in found[key]] for key in (A, B)}
    assert kinds == {A: [["V2", "V2"]] * 2, B: [["V1", "V1"], ["V1", "V1", "V2"]]}


def _recorded(manifest: Storage, branch: str | None, table_key: str) -> list[tuple[str, str]]:
    """Return the file of each version of a table that a branch has, and the kind of its name."""
    rows = Table.open(manifest, branch=branch).read(filter=f"table_key = '{table_key}'").to_pylist()
    versions = [row for row in rows if row["object_type"] == "table_version"]
    metadata = [
        json.loads(row["metadata"]) for row in sorted(versions, key=lambda r: r["object_id"])
    ]
    return [(each["manifest_path"], each["naming_scheme"]) for each in metadata]
