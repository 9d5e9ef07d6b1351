"""Opening: what is not there, what may only be read, what was copied or moved, what is damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from other_publisher import MANIFEST, OtherPublisher
from repositories import SCHEMA, use_it

from omnigraph_l2 import Repository
from omnigraph_l2.errors import (
    AccessDenied,
    CorruptRepository,
    OmniGraphError,
    RepositoryNotFound,
)
from omnigraph_testing import Answer, FaultyS3, Rule


def test_no_such_place(tmp_path: Path) -> None:
    """Nothing is made by looking."""
    with pytest.raises(RepositoryNotFound, match=r"Repository\.init"):
        Repository.open(tmp_path / "nothing")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(RepositoryNotFound):
        Repository.open(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def add(repo: Repository, name: str) -> None:
    """Publish a row."""
    with repo.transaction() as tx:
        tx.append("node:Person", [{"id": name}])


@pytest.mark.parametrize("how", ["copied", "moved"])
def test_copied_and_moved(tmp_path: Path, how: str) -> None:
    """It opens elsewhere, with all of its history, and a copy is on its own from then on."""
    location, other = tmp_path / "a" / "repo", tmp_path / "b" / "r e p o 人"
    use_it(str(location))
    other.parent.mkdir()
    if how == "copied":
        shutil.copytree(location, other)
    else:
        location.rename(other)
    with Repository.open(other) as repo:
        log = repo.log()
        add(repo, "c")
        assert repo.log()[1:] == log
        assert repo.snapshot().read("node:Person").num_rows == 3
        assert repo.snapshot(commit=log[0].graph_commit_id).read("node:Person").num_rows == 2
    reader = OtherPublisher(other)
    assert len(reader.tables()) == 3
    if how == "copied":
        with Repository.open(location) as repo:
            assert repo.log() == log
            add(repo, "d")
            assert sorted(repo.snapshot().read("node:Person")["id"].to_pylist()) == ["a", "b", "d"]


def test_a_name_that_leads_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path and a symbolic link are the same repository."""
    use_it(str(tmp_path / "repo"))
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    monkeypatch.chdir(tmp_path)
    for location in ("repo", "./repo/", "link", f"file://{tmp_path}/repo"):
        with Repository.open(location) as repo:
            add(repo, location)
    assert Repository.open(tmp_path / "repo").snapshot().read("node:Person").num_rows == 6


@pytest.fixture
def open_location() -> Iterator[Path]:
    """A folder that every user can look into."""
    with tempfile.TemporaryDirectory() as location:
        Path(location).chmod(0o755)
        yield Path(location)


WRITING = ("PUT", "POST", "DELETE")
AS_NOBODY = """
import os, sys
from omnigraph_l2 import Repository
from omnigraph_l2.errors import AccessDenied
import lance, pyarrow.dataset
lance.dataset(sys.argv[1] + "/__manifest").to_table(filter="object_id = 'x'")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with Repository.open(sys.argv[1]) as repo:
    assert repo.snapshot().read("node:Person").num_rows == 2
    assert [len(repo.log()), len(repo.log(limit=1))] == [2, 1]
    for commit in repo.log():
        repo.snapshot(commit=commit.graph_commit_id).read("edge:Knows")
        repo.snapshot(as_of=commit.created_at, branch="main").schema
    for change in (
        lambda tx: tx.append("node:Person", [{"id": "x"}]),
        lambda tx: tx.delete("edge:Knows", "true"),
    ):
        try:
            with repo.transaction() as tx:
                change(tx)
        except AccessDenied:
            print("denied")
"""


@pytest.mark.integration
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_read_only(open_location: Path) -> None:
    """Who may only read reads everything, and is told so when he writes."""
    use_it(str(open_location / "repo"))
    (open_location / "repo").chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(open_location / "repo")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.returncode) == ("denied\ndenied\n", 0), done.stderr


@pytest.mark.integration
def test_credentials_that_may_only_read(faulty_s3: FaultyS3) -> None:
    """In a store, too: everything can be read; all that is tried to be written is a lease."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    use_it(uri, options)
    faulty_s3.inject(Rule(Answer(403), WRITING))
    start = len(faulty_s3.requests)
    with Repository.open(uri, options) as repo:
        assert repo.snapshot().read("node:Person").num_rows == 2
        for commit in repo.log():
            repo.snapshot(commit=commit.graph_commit_id).read("edge:Knows")
        assert [len(repo.branches.list()), len(repo.runs.list())] == [1, 0]
        written = [each for each in faulty_s3.requests[start:] if each.method in WRITING]
        assert all("_refs/leases/" in each.key for each in written)
        with pytest.raises(AccessDenied), repo.transaction() as tx:
            tx.append("node:Person", [{"id": "x"}])
        with pytest.raises(AccessDenied):
            repo.branches.create("side")
    faulty_s3.clear()
    with Repository.open(uri, options) as repo:
        assert repo.snapshot().read("node:Person").num_rows == 2
        assert len(repo.branches.list()) == 1


def damaged_row(other: OtherPublisher, **columns: Any) -> dict[str, Any]:
    """Make a row of the next version of the persons, with something wrong."""
    return {**other.version_row("node:Person", 2, 0), **columns}


DAMAGE: list[Callable[[OtherPublisher], dict[str, Any]]] = [
    lambda o: damaged_row(o, metadata=None),
    lambda o: damaged_row(o, metadata="no JSON"),
    lambda o: damaged_row(o, row_count=None),
    lambda o: damaged_row(o, table_version=None),
    lambda o: damaged_row(o, table_key="node:Nobody", object_id=f"node:Nobody${2:020d}"),
    lambda o: {"object_id": f"publish${1:020d}", "object_type": "publish", "table_key": ""},
    lambda o: {"object_id": "node:X", "object_type": "table", "table_key": "node:X"},
]


@pytest.mark.parametrize("make", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_row(tmp_path: Path, make: Callable[[OtherPublisher], dict[str, Any]]) -> None:
    """Who opens is told which row; a handle that is open is told when it comes to it."""
    other = OtherPublisher(tmp_path / "repo")
    other.create()
    repo = Repository.open(other.root)
    older = repo.snapshot()
    row = make(other)
    other.merge([row])
    for look in (repo.snapshot, repo.log, lambda: Repository.open(other.root)):
        with pytest.raises(CorruptRepository) as raised:
            look()
        assert raised.value.item == row["object_id"]
        assert raised.value.location == str(other.root)
    with pytest.raises(CorruptRepository):
        add(repo, "x")
    assert older.read("node:Person").num_rows == 0
    assert repo.snapshot(version=older.version).tables == older.tables


@pytest.mark.parametrize("schema", ["without a column", "of another type"])
def test_a_catalog_of_other_columns(tmp_path: Path, schema: str) -> None:
    """A dataset that is no catalog is told, and no error of the layers below comes out."""
    columns = [field.remove_metadata() for field in MANIFEST.remove_metadata()]
    if schema == "without a column":
        columns = columns[:-1]
    else:
        columns[-1] = pa.field("row_count", pa.string())
    row = {"object_id": "node:A$1", "object_type": "table_version", "table_key": "node:A"}
    table = pa.Table.from_pylist([row], schema=pa.schema(columns))
    lance.write_dataset(table, str(tmp_path / "repo" / "__manifest"), enable_stable_row_ids=True)
    with pytest.raises(OmniGraphError):
        Repository.open(tmp_path / "repo")


def test_a_table_that_is_gone(tmp_path: Path) -> None:
    """A dataset that is not where its row says is told with the first read; others are read."""
    use_it(str(tmp_path / "repo"))
    shutil.rmtree(tmp_path / "repo" / "nodes" / "40d76f1f51639ec0")
    repo = Repository.open(tmp_path / "repo")
    assert repo.snapshot().read("edge:Knows").num_rows == 1
    with pytest.raises(CorruptRepository):
        repo.snapshot().read("node:Person")


def test_without_refs(tmp_path: Path) -> None:
    """A repository that lost its pointers opens, reads and publishes all the same."""
    use_it(str(tmp_path / "repo"))
    shutil.rmtree(tmp_path / "repo" / "_refs")
    with Repository.open(tmp_path / "repo") as repo:
        add(repo, "c")
        assert repo.snapshot().read("node:Person").num_rows == 3
    assert Repository.open(tmp_path / "repo").snapshot().schema == SCHEMA
