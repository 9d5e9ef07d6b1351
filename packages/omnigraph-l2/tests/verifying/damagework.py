"""The graph of these tests, how it is damaged, and what other processes do to it.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import lance
import pyarrow as pa

from omnigraph_l1 import Table, table_path
from omnigraph_l2 import EdgeType, GraphCommit, GraphSchema, NodeType, Repository, VerifyReport

PERSON, COMPANY, KNOWS = "node:Person", "node:Company", "edge:Knows"
PEOPLE = table_path(PERSON)
SCHEMA = GraphSchema(
    nodes=[
        NodeType("Person", {"age": pa.int32(), "mail": pa.string()}, unique=["mail"]),
        NodeType("Company", {"name": pa.string()}),
    ],
    edges=[EdgeType("Knows", "Person", "Person", {})],
)


def append(repo: Repository, *names: str, branch: str = "main", **how: Any) -> GraphCommit:
    """Add people."""
    with repo.transaction(branch, **how) as tx:
        tx.append(PERSON, [{"id": name, "age": 1, "mail": f"{name}@x"} for name in names])
    assert tx.commit is not None
    return tx.commit


def filled(location: Path) -> Repository:
    """Make a repository with something of everything."""
    # Flushed, so that what is damaged later was acknowledged, and not left by a power cut.
    repo = Repository.init(location, SCHEMA)
    for name in ("ann", "bob", "cat"):
        append(repo, name, actor=name, message=f"add {name}")
    with repo.transaction() as tx:
        tx.append(KNOWS, [{"id": "e", "src": "ann", "dst": "bob"}])
        tx.append(COMPANY, [{"id": "co"}])
    repo.branches.create("side")
    append(repo, "dan", branch="side")
    append(repo, "eve", branch="side")
    repo.tags.create("v1", "side")
    run = repo.runs.begin(operation_hash="op", actor="ann")
    with run.transaction() as tx:
        tx.append(COMPANY, [{"id": "late"}])
    append(repo, "fay", actor="fay")
    repo.flush()
    repo._branch("side").complete_log()
    repo._branch(f"__run__{run.run_id}").complete_log()
    return repo


def kinds(report: VerifyReport) -> list[str]:
    """Name the findings by their kinds."""
    return [each.kind for each in report.findings]


def below(repo: Repository, path: str) -> Path:
    """Give a path in a repository."""
    return Path(repo.uri) / path


def document(repo: Repository, path: str) -> Path:
    """Give a document of ``_refs``."""
    return below(repo, f"_refs/{path}.json")


def rewrite(file: Path, **changes: Any) -> None:
    """Change some keys of a document."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def dataset(repo: Repository, path: str, branch: str | None = None) -> lance.LanceDataset:
    """Open a dataset by plain Lance, as somebody would who knows nothing of the graph."""
    found = lance.dataset(str(below(repo, path)))
    return found if branch is None else found.checkout_version((branch, None))


def native(repo: Repository, name: str = "side") -> str:
    """Name the native branch of a branch."""
    found = repo.branches.get(name).native_branch
    assert found is not None
    return found


def data_files(repo: Repository, key: str, branch: str = "main") -> list[Path]:
    """Name the data files of a table, the oldest first."""
    table = repo.snapshot(branch)._open(key)
    files = [file for each in table.fragment_files().values() for file in each.data]
    found = [next(below(repo, table_path(key)).rglob(str(file))) for file in files]
    return sorted(found, key=lambda file: file.stat().st_mtime_ns)


def update(repo: Repository, where: str, **values: str) -> None:
    """Change rows of the catalog."""
    dataset(repo, "__manifest").update(values, where=where)


def publish_unseen(repo: Repository, key: str, rows: list[dict[str, Any]]) -> None:
    """Publish rows that no transaction would take."""
    from omnigraph_l2 import TableUpdate  # noqa: PLC0415

    table = repo.snapshot()._open(key)
    made = table.append(pa.Table.from_pylist(rows, schema=table.schema)).table
    update = TableUpdate(table_key=key, table_version=made.version, row_count=made.count())
    publish_unchecked(repo, update)


def publish_unchecked(repo: Repository, update: Any) -> None:
    """Publish a version as another program would that checks no rule."""
    with mock.patch("omnigraph_l2._commit.commit_loop.check_integrity", return_value=frozenset()):
        repo.publish([update])
    repo.flush()


def later(repo: Repository, hours: float = 2) -> Repository:
    """Let the clock of a handle go before."""
    clock = repo._clock
    repo._clock = lambda: clock() + timedelta(hours=hours)
    return repo


def fork(repo: Repository, path: str, name: str, branch: str | None = None) -> None:
    """Make a native branch that nothing names."""
    Table.open(below(repo, path), branch=branch, durability="none").fork(name)


def fill_and_break(location: Path) -> list[str]:
    """Make a repository of which everything is broken that repair mends."""
    with filled(location / "repo") as repo:
        break_all(repo)
    return [str(location / "repo")]


def break_all(repo: Repository) -> None:
    """Break everything that repair mends."""
    commits = dataset(repo, "_graph_commits.lance")
    newest = repo.log(limit=1)[0].graph_commit_id
    commits.delete(f"graph_commit_id = '{newest}'")
    dataset(repo, "_graph_commit_actors.lance").delete("actor_id = 'ann'")
    rewrite(document(repo, "branches/main"), manifest_version=2, head_commit_id="x")
    unique = "gone.01arz3ndektsv4rrffq69g5fav"
    for path in ("__manifest", "_graph_commits.lance", PEOPLE):
        fork(repo, path, unique)


def fill(location: Path) -> list[str]:
    """Make a repository to be killed in."""
    filled(location / "repo").close()
    return [str(location / "repo")]


def work(uri: str) -> None:
    """Do something of everything."""
    with Repository.open(uri, durability="none") as repo:
        append(repo, "gus", actor="gus")
        repo.branches.create("other", "side")
        append(repo, "hal", branch="other", message="hal comes")
        repo.tags.create("v2", "other")
        run = repo.runs.begin("other", operation_hash="two")
        with run.transaction() as tx:
            tx.upsert(PERSON, [{"id": "hal", "age": 2, "mail": "new"}])
        run.publish()
        repo.branches.merge("other", strategy="theirs")
        repo.tags.delete("v2")
        repo.branches.delete("other", force=True)


def mend(uri: str) -> None:
    """Mend all that can be mended."""
    with Repository.open(uri, durability="none") as repo:
        later(repo).repair(dry_run=False)


Damage = Callable[[Repository], None]
