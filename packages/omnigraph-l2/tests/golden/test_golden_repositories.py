"""Repositories that an older state of the code wrote: copies are read, changed and maintained.

``archives`` holds each repository and, as JSON, what is in it; ``write_golden.py`` wrote both. The
tests use public names only, so that they can outlive the code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from golden_copies import ARCHIVES, golden_copy, read_expected
from golden_description import contents, describe, describe_tag, digest

from omnigraph_l1 import migrate_version_names
from omnigraph_l2 import GraphCommit, GraphSchema, MergeKind, NodeType, Repository
from omnigraph_l2.errors import (
    BranchInUse,
    DuplicateValues,
    InvalidData,
    MergeConflictKind,
    MergeConflicts,
    RunConflict,
    SnapshotExpired,
    UnknownBranch,
)

NAMES = sorted(path.stem for path in ARCHIVES.glob("*.json"))
READ_ONLY = {"auto_cleanup", "original_files"}
WRITABLE = sorted(set(NAMES) - READ_ONLY)
PERSON, COMPANY = "node:Person", "node:Company"

Expected = dict[str, Any]


@pytest.fixture
def copy(name: str) -> Iterator[Path]:
    """A copy of the golden repository ``name``, where it was written."""
    with golden_copy(name) as place:
        yield place


@pytest.fixture
def expected(name: str) -> Expected:
    """What that repository contains."""
    return read_expected(name)


def reopen(place: Path) -> Repository:
    """Open a repository for writing."""
    return Repository.open(place, actor="later", durability="none")


def log_ids(repo: Repository, branch: str = "main") -> list[str]:
    """Return the ids of the log of a branch."""
    return [commit.graph_commit_id for commit in repo.log(branch)]


def ids(repo: Repository, key: str = PERSON, branch: str = "main") -> set[str]:
    """Return the ids of the rows of a table."""
    return set(repo.snapshot(branch).read(key)["id"].to_pylist())


def assert_same(found: Mapping[str, Any], expected: Expected) -> None:
    """Compare a description with what is expected, part by part."""
    for part, value in found.items():
        assert value == expected[part], part


def test_all_kinds_are_there() -> None:
    """A missing archive would be a missing test."""
    assert {path.name.split(".")[0] for path in ARCHIVES.iterdir()} == set(NAMES)
    ours = {"branches", "cleaned", "interrupted", "old_names", "types"}
    assert set(NAMES) == {*ours, "other_publisher", "version_1", *READ_ONLY}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read(copy: Path, expected: Expected, name: str) -> None:
    """Branches, logs, rows of each commit, schemas, tags and runs are as they were written."""
    with Repository.open(copy) as repo:
        assert_same(describe(repo, expected["archived"]), expected)
        report = repo.verify()
    if name not in READ_ONLY | {"interrupted"}:
        assert report.ok, str(report)


@pytest.mark.parametrize("name", ["original_files"])
def test_reading_leaves_no_trace(copy: Path, expected: Expected) -> None:
    """No file of the original program's repository is added, removed or changed."""
    before = files(copy)
    with Repository.open(copy) as repo:
        describe(repo, expected["archived"])
        repo.verify()
    assert files(copy) == before


def files(place: Path) -> dict[str, bytes]:
    """Return the content of each file."""
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.usefixtures("lease_at_once")
def test_it_is_changed_and_maintained(copy: Path, expected: Expected) -> None:
    """Each branch takes commits; nothing older is lost, also not to optimize and cleanup."""
    with reopen(copy) as repo:
        for branch in expected["branches"]:
            append_row(repo, branch, expected)
        merge_a_new_branch(repo, expected)
        branch_from_tags(repo, expected)
        evolve_there_and_back(repo, expected)
        for branch in ("main", max(expected["branches"])):
            before = contents(repo.snapshot(branch))
            repo.optimize(branch=branch)
            assert contents(repo.snapshot(branch)) == before
        repo.repair(dry_run=False)
        shown = repo.cleanup(timedelta(0))
        assert repo.cleanup(timedelta(0), dry_run=False).bytes == shown.bytes > 0
        heads = {branch: contents(repo.snapshot(branch)) for branch in expected["branches"]}
    with reopen(copy) as repo:
        report = repo.verify()
        assert report.ok, str(report)
        assert not repo.migrate().is_needed
        assert {name: contents(repo.snapshot(name)) for name in heads} == heads
        assert_older_is_kept(repo, expected)


def append_row(repo: Repository, branch: str, expected: Expected) -> None:
    """Append one row: it is a commit on top of the log, and no other row or table changes."""
    ((key, rows),) = expected["append"].items()
    before = expected["branches"][branch]
    with repo.transaction(branch) as tx:
        tx.append(key, rows)
    assert tx.commit is not None
    assert tx.commit.parent_commit_id == before["head"]
    assert log_ids(repo, branch) == [tx.commit.graph_commit_id, *before["log"]]
    snapshot = repo.snapshot(branch)
    after = contents(snapshot)
    assert {**after, key: None} == {**before["tables"], key: None}
    older = [row for row in snapshot.read(key).to_pylist() if row["id"] != "new"]
    assert [len(older), digest(older)] == before["tables"][key]
    assert after[key][0] == len(older) + 1


def merge_a_new_branch(repo: Repository, expected: Expected) -> None:
    """Create a branch, write to it, merge it into main, and delete it."""
    ((key, (row,)),) = expected["append"].items()
    repo.branches.create("later/branch")
    with repo.transaction("later/branch") as tx:
        tx.delete(key, ids=["new"])
    assert "new" in ids(repo, key)
    assert repo.branches.merge("later/branch").kind is MergeKind.FAST_FORWARD
    assert contents(repo.snapshot()) == expected["branches"]["main"]["tables"]
    with repo.transaction("later/branch") as tx:
        tx.append(key, [row])
    with repo.transaction() as tx:
        tx.append(key, [{**row, "id": "newer"} | ({"code": 10_001} if "code" in row else {})])
    result = repo.branches.merge("later/branch")
    assert result.kind is MergeKind.MERGED
    assert {"new", "newer"} <= ids(repo, key)
    repo.branches.delete("later/branch")
    with pytest.raises(UnknownBranch):
        repo.snapshot("later/branch")
    assert result.commit == repo.log(limit=1)[0]


def branch_from_tags(repo: Repository, expected: Expected) -> None:
    """Start a branch where each tag points: it shows the graph of that time."""
    for tag, described in expected["tags"].items():
        repo.branches.create("from-tag", tag)
        assert contents(repo.snapshot("from-tag")) == described["tables"]
        repo.branches.delete("from-tag")


def evolve_there_and_back(repo: Repository, expected: Expected) -> None:
    """Add a property and a type, and drop them again: the rows stay as they are."""
    ((key, _),) = expected["append"].items()
    before, schema = contents(repo.snapshot()), repo.snapshot().schema
    wider = [
        attrs.evolve(each, properties={**each.properties, "later": pa.string()})
        if each.table_key == key
        else each
        for each in schema.nodes
    ]
    repo.evolve(GraphSchema(nodes=[*wider, NodeType("Later")], edges=schema.edges))
    rows = repo.snapshot().read(key).to_pylist()
    assert {row.pop("later") for row in rows} == {None}
    assert [len(rows), digest(rows)] == before[key]
    assert repo.snapshot().tables["node:Later"].row_count == 0
    repo.evolve(schema)
    assert contents(repo.snapshot()) == before
    assert repo.snapshot().schema == schema


def assert_older_is_kept(repo: Repository, expected: Expected) -> None:
    """Branches, logs, commits of deleted branches, tags and runs are what they were."""
    assert {each.name for each in repo.branches.list()} == set(expected["branches"])
    for name, before in expected["branches"].items():
        branch, length = repo.branches.get(name), len(before["log"])
        assert branch.native_branch == before["native_branch"]
        assert branch.parent_branch == before["parent_branch"]
        assert log_ids(repo, name)[-length:] == before["log"]
    for commit_id, before in {**expected["commits"], **expected["archived"]}.items():
        assert_commit(repo.commit(commit_id), before)
    assert {each.name for each in repo.tags.list()} == set(expected["tags"])
    for name, before in expected["tags"].items():
        assert describe_tag(repo, name) == before
    assert {each.run_id: each.status.value for each in repo.runs.list()} == {
        run_id: before["status"] for run_id, before in expected["runs"].items()
    }
    for run_id, before in expected["runs"].items():
        if before["status"] == "running":
            assert contents(repo.runs.get(run_id).snapshot()) == before["tables"]


def assert_commit(commit: GraphCommit, before: Expected) -> None:
    """Compare the record of a commit."""
    assert commit.parent_commit_id == before["parent"]
    assert commit.merged_parent_commit_id == before["merged_parent"]
    assert (commit.actor_id, commit.message) == (before["actor"], before["message"])
    assert (commit.run_id, commit.operation_hash) == (before["run"], before["operation_hash"])
    assert commit.created_at == datetime.fromisoformat(before["created_at"])


@pytest.mark.parametrize("name", ["branches"])
def test_old_branches_are_merged(copy: Path, expected: Expected) -> None:
    """Merges find the bases, the conflicts and the changes of old branches; an old one reverts."""
    with reopen(copy) as repo:
        assert repo.branches.merge("merged").kind is MergeKind.ALREADY_UP_TO_DATE
        assert repo.branches.merge("team/a").kind is MergeKind.MERGED
        assert "k1" in ids(repo, "edge:Knows")
        assert repo.branches.merge("team/a/deep", "team/a").kind is MergeKind.MERGED
        repo.branches.merge("below/the/deepest")
        assert {"bottom", "on-deepest", "on-team-a"} <= ids(repo)
        with pytest.raises(MergeConflicts) as caught:
            repo.branches.merge("conflict")
        assert [(each.table_key, each.row_id, each.kind) for each in caught.value.conflicts] == [
            (PERSON, "p2", MergeConflictKind.DIVERGENT_UPDATE)
        ]
        repo.branches.merge("conflict", strategy="theirs")
        (row,) = repo.snapshot().read(PERSON, filter="id = 'p2'").to_pylist()
        assert row["age"] == 1
        (old,) = [
            key for key, each in expected["commits"].items() if each["message"] == "set right"
        ]
        assert "right" in ids(repo)
        repo.revert(old)
        assert "right" not in ids(repo)
        with pytest.raises(BranchInUse):
            repo.branches.delete("deepest")
        repo.branches.delete("below/the/deepest")
        repo.branches.delete("deepest")
        assert repo.verify().ok


@pytest.mark.parametrize("name", ["branches"])
def test_old_runs_and_operations_go_on(copy: Path, expected: Expected) -> None:
    """What was done is not done twice; what runs is published; what failed begins again."""
    with reopen(copy) as repo:
        for commit_id, before in expected["commits"].items():
            if before["operation_hash"] and not before["run"]:
                with repo.transaction(operation_hash=before["operation_hash"]) as tx:
                    assert tx.is_repeat
                    tx.append(PERSON, [{"id": "done twice"}])
                assert tx.commit is not None
                assert tx.commit.graph_commit_id == commit_id
        for run_id, before in expected["runs"].items():
            if before["operation_hash"] is None:
                continue
            run = repo.runs.begin(before["target_branch"], operation_hash=before["operation_hash"])
            assert (run.run_id == run_id) == (before["status"] in {"running", "published"})
            if before["status"] == "running":
                commit = run.publish()
                assert commit is not None
                assert commit.parent_commit_id == before["base_commit"]
                assert contents(repo.snapshot(before["target_branch"])) == before["tables"]
            elif run.run_id != run_id:
                run.abort()
        assert "done twice" not in ids(repo)
        assert repo.runs.list("running") == []


@pytest.mark.parametrize("name", ["branches"])
def test_old_commits_are_compared_and_found_by_time(copy: Path, expected: Expected) -> None:
    """The change feed and ``as_of`` agree with the log; a diff with the rows."""
    with Repository.open(copy) as repo:
        log = expected["branches"]["main"]["log"]
        feed = [change.commit.graph_commit_id for change in repo.changes(since=None)]
        assert feed == log[::-1]
        for commit_id in log:
            at = datetime.fromisoformat(expected["commits"][commit_id]["created_at"])
            found = repo.snapshot(as_of=at).commit
            assert found is not None
            assert found.graph_commit_id == commit_id
        for after, before in itertools.pairwise(log):
            tables = repo.diff(before, after).tables
            changed = {key for key, each in tables.items() if each.inserted or each.updated}
            old, new = (expected["commits"][each]["tables"] for each in (before, after))
            assert changed == {key for key in new if new[key] != old[key]}


@pytest.mark.parametrize("name", ["types"])
def test_old_constraints_indexes_and_schemas_count(copy: Path) -> None:
    """Required and unique values are checked with old rows; old indexes answer; schemas merge."""
    key = "node:Item"
    with reopen(copy) as repo:
        with pytest.raises(DuplicateValues), repo.transaction() as tx:
            tx.append(key, [{"id": "x", "name": "x", "code": 7}])
        with pytest.raises(InvalidData), repo.transaction() as tx:
            tx.append(key, [{"id": "x", "code": 10_000}])
        dataset = repo.snapshot().dataset(key)
        found = dataset.to_table(columns=["id", "_score"], full_text_query="word49")
        assert set(found["id"].to_pylist()) == {"i049", "i099", "i149"}
        near = {"column": "place", "q": pa.array([25.1, 1, -100, 0.5], pa.float32()), "k": 1}
        found = dataset.to_table(columns=["id", "_distance"], nearest={**near, "nprobes": 9})
        assert found["id"].to_pylist() == ["i100"]
        before = repo.snapshot().schema
        assert repo.branches.merge("old-schema").kind is MergeKind.MERGED
        assert repo.snapshot().schema == before
        assert ids(repo, "edge:Part") == {"f"}
        repo.branches.merge("main", "old-schema")
        assert contents(repo.snapshot("old-schema")) == contents(repo.snapshot())
        assert repo.verify().ok


@pytest.mark.parametrize("name", ["version_1"])
def test_version_1_is_migrated(copy: Path, expected: Expected) -> None:
    """The first publish migrates its branch, ``migrate`` the others; nothing else changes."""
    older = expected["older_catalogs"]
    assert older == {"main": 1, "side": 1, "feature/x": 1}
    with reopen(copy) as repo:
        with repo.transaction() as tx:
            tx.append(PERSON, [{"id": "new"}])
            tx.delete(PERSON, ids=["c"])
        assert dict(repo.migrate().found) == {"side": 1, "feature/x": 1}
        repo.revert(log_ids(repo)[0])
        repo.migrate(dry_run=False)
        assert not repo.migrate().is_needed
    with reopen(copy) as repo:
        for branch, before in expected["branches"].items():
            assert contents(repo.snapshot(branch)) == before["tables"]
        assert_older_is_kept(repo, expected)
        assert repo.verify().ok


@pytest.mark.parametrize("name", ["old_names"])
def test_old_version_names_are_migrated(copy: Path, expected: Expected) -> None:
    """Renamed, each version is still the one that commits and branches pin."""
    path = expected["branches"]["main"]["entries"]["node:Older"][0]
    assert migrate_version_names(copy / path) > 0
    with reopen(copy) as repo:
        assert_same(describe(repo, expected["archived"]), expected)
        for branch in expected["branches"]:
            append_row(repo, branch, expected)
        assert repo.verify().ok


@pytest.mark.parametrize("name", ["cleaned"])
def test_what_was_cleaned_has_expired(copy: Path, expected: Expected) -> None:
    """Old commits stay in the log; their data is reported as expired, not as damage."""
    expired = [name for name, each in expected["commits"].items() if each["tables"] == "expired"]
    assert len(expired) > 50
    with reopen(copy) as repo:
        for commit_id in expired[::20]:
            assert repo.commit(commit_id).graph_commit_id == commit_id
            with pytest.raises(SnapshotExpired):
                repo.snapshot(commit=commit_id).read(PERSON)
        assert repo.branches.merge("side").kind is MergeKind.MERGED
        assert "sidestep" in ids(repo)


@pytest.mark.parametrize("name", ["interrupted"])
def test_what_killed_processes_left_is_completed(copy: Path, expected: Expected) -> None:
    """What was published counts, what was not is never seen, and no name is blocked."""
    with reopen(copy) as repo:
        assert "last" in ids(repo)
        run = repo.runs.begin(operation_hash="begun")
        assert run.run_id not in expected["runs"]
        with run.transaction() as tx:
            tx.upsert(COMPANY, [{"id": "c0", "name": "too late"}])
        with pytest.raises(RunConflict):  # it began before the published run
            run.publish()
        run.abort()
        with repo.transaction() as tx:
            tx.append(COMPANY, [{"id": "c9", "name": "above a lost change"}])
        for name in ("unborn", "doomed"):
            repo.branches.create(name)
        assert repo.branches.merge("other").kind is MergeKind.MERGED
        with repo.transaction("side") as tx:
            tx.append(PERSON, [{"id": "side"}])
        assert ids(repo, COMPANY) == {"c0", "c1", "c9", "by the run"}
        assert ids(repo) == {*(f"p{n}" for n in range(6)), "seen", "last", "other"}
        repo.repair(dry_run=False)
        report = repo.verify()
        assert report.ok, str(report)
