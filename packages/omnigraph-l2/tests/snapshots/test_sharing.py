"""A shared table is read elsewhere exactly as the snapshot reads it, or is told to be gone."""

from __future__ import annotations

import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from reading_elsewhere import names

from campaign.forked_processes import process_context
from omnigraph_l2 import NodeType, ReadTarget, Repository
from omnigraph_l2.errors import InvalidFilter, SnapshotExpired, UnknownTable
from omnigraph_testing import S3Store, sample_graph

PERSON = "node:Person"


def sent(target: ReadTarget) -> ReadTarget:
    """Send it, as to another process."""
    back: ReadTarget = pickle.loads(pickle.dumps(target))
    return back


def grow(repo: Repository, *ids: str, branch: str = "main") -> None:
    """Add people, each in a fragment of its own."""
    for each in ids:
        with repo.transaction(branch) as tx:
            tx.append(PERSON, [{"id": each, "age": len(each)}])


def test_it_reads_what_the_snapshot_reads(omnigraph_repo: Repository) -> None:
    """Rows, columns, filters, counts; on a branch, too; after others have published."""
    repo = omnigraph_repo
    repo.branches.create("side")
    grow(repo, "x", branch="side")
    for branch in ("main", "side"):
        snapshot = repo.snapshot(branch)
        for key in snapshot.tables:
            target = sent(snapshot.share(key))
            grow(repo, f"later-{branch}-{key}", branch=branch)
            assert target.scan().read_all() == snapshot.read(key)
            assert target.schema == snapshot.dataset(key).schema
            assert target.count == snapshot.tables[key].row_count
            assert target.table_version == snapshot.tables[key].table_version
        people = sent(snapshot.share(PERSON))
        found = people.scan(["id"], "age < 20").read_all()
        assert found == snapshot.read(PERSON, ["id"], "age < 20")


def test_its_parts_are_the_whole(omnigraph_repo: Repository) -> None:
    """Fragments and ranges are exact over deleted rows, and batches full where a size is given."""
    repo = omnigraph_repo
    grow(repo, *"pqrstu")
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["q", "eve"])
    target = sent(repo.snapshot().share(PERSON))
    parts = target.fragments()
    assert sum(part.rows for part in parts) == target.count == 7
    assert all(part.size_bytes > 0 for part in parts)
    whole = target.scan().read_all()
    for part in parts:
        assert target.scan(fragments=[part.number]).read_all().num_rows == part.rows
    ranges = [target.scan(offset=start, limit=3).read_all() for start in range(0, 7, 3)]
    assert pa.concat_tables(ranges) == whole
    assert [len(batch) for batch in target.scan(["id"], batch_size=3)] == [3, 3, 1]
    assert target.scan([], fragments=[parts[0].number]).read_all().num_rows == parts[0].rows


def test_an_index_tells_where_rows_match(tmp_path: Path) -> None:
    """Where there is one, and not too many rows match."""
    schema = [NodeType("Person", {"age": pa.int32()}, indexes={"age": "btree"})]
    repo = Repository.init(tmp_path / "repo", durability="none")
    with repo:
        repo.evolve(type(repo.snapshot().schema)(nodes=schema))
        grow(repo, "a", "bb", "cc", "dddd")
        repo.optimize()
        snapshot = repo.snapshot()
        target = sent(snapshot.share(PERSON))
        found = target.matches_by_index("age = 2", 10)
        assert found is not None
        assert sum(found.values()) == 2
        assert target.matches_by_index("age = 2", 1) is None
        assert target.matches_by_index("id LIKE '%c%'", 10) is None
        ids = target.scan(["id"], "age = 2", fragments=list(found)).read_all()["id"]
        assert sorted(ids.to_pylist()) == ["bb", "cc"]


def test_another_process_reads_it(omnigraph_repo: Repository) -> None:
    """One that knows nothing of the repository but the target."""
    target = omnigraph_repo.snapshot().share(PERSON)
    grow(omnigraph_repo, "later")
    with ProcessPoolExecutor(1, mp_context=process_context()) as pool:
        assert pool.submit(names, target).result(60) == ["ann", "bob", "eve"]


@pytest.mark.usefixtures("lease_at_once")
def test_what_was_cleaned_up_is_told(omnigraph_repo: Repository) -> None:
    """Whether it was open already or not; a target made since reads on."""
    repo = omnigraph_repo
    old = repo.snapshot().share(PERSON)
    opened = sent(repo.snapshot().share(PERSON))
    reader = opened.scan(batch_size=1)
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["eve"])
    repo.optimize()
    repo.cleanup(older_than=timedelta(0), keep_versions=1, dry_run=False)
    for target in (sent(old), opened):
        with pytest.raises(SnapshotExpired) as told:
            target.scan().read_all()
        assert told.value.table_key == PERSON
        assert told.value.table_version == target.table_version
    del reader
    assert names(repo.snapshot().share(PERSON)) == ["ann", "bob"]


def test_a_branch_that_was_deleted_is_told(omnigraph_repo: Repository) -> None:
    """Its data is gone for whoever opens it; the native branch is nobody's name for it."""
    repo = omnigraph_repo
    repo.branches.create("side")
    grow(repo, "x", branch="side")
    target = sent(repo.snapshot("side").share(PERSON))
    repo.branches.delete("side")
    with pytest.raises(SnapshotExpired) as told:
        target.scan().read_all()
    assert told.value.table_key == PERSON
    with pytest.raises(SnapshotExpired):
        target.fragments()


def test_another_repository_in_its_place_is_not_read(tmp_path: Path) -> None:
    """The same versions of other tables are not what was shared."""
    with sample_graph(tmp_path / "repo") as repo:
        target = repo.snapshot().share(PERSON)
        assert names(target) == ["ann", "bob", "eve"]
    shutil.rmtree(tmp_path / "repo")
    with pytest.raises(SnapshotExpired):
        names(sent(target))
    with sample_graph(tmp_path / "repo") as again:
        assert names(again.snapshot().share(PERSON)) == ["ann", "bob", "eve"]
        with pytest.raises(SnapshotExpired):
            names(target)


def test_wrong_calls_are_typed(omnigraph_repo: Repository) -> None:
    """As those of the snapshot are."""
    with pytest.raises(UnknownTable):
        omnigraph_repo.snapshot().share("node:Nobody")
    target = omnigraph_repo.snapshot().share(PERSON)
    with pytest.raises(InvalidFilter) as told:
        target.scan(filter="age >").read_all()
    assert told.value.table_key == PERSON
    with pytest.raises(InvalidFilter):
        target.matches_by_index("nothing = 1", 5)


def test_it_shows_no_secret(s3_store: S3Store) -> None:
    """It carries what opens the store, and its text does not."""
    with sample_graph(s3_store.uri("graph"), s3_store.storage_options) as repo:
        target = sent(repo.snapshot().share(PERSON))
    assert s3_store.secret_key not in repr(target)
    assert names(target) == ["ann", "bob", "eve"]
