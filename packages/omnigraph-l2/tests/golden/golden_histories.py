"""What happened in each golden repository. Only ``write_golden.py`` imports this.

Each function writes one repository and returns what its test needs besides its description: new
rows that can be appended on every branch, and the ids of commits of deleted branches.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
from other_publisher import OtherPublisher

from omnigraph_l1 import table_path
from omnigraph_l1.failpoints import handling
from omnigraph_l2 import EdgeType, GraphSchema, NodeType, RegisterTable, Repository, TableUpdate

__all__ = ["HISTORIES", "interrupt"]

PERSON, COMPANY, KNOWS, WORKS = "node:Person", "node:Company", "edge:Knows", "edge:Works"
SCHEMA = GraphSchema(
    nodes=[
        NodeType("Person", {"age": pa.int32(), "nick": pa.string()}),
        NodeType("Company", {"name": pa.string()}),
    ],
    edges=[
        EdgeType("Knows", "Person", "Person", {"since": pa.date32()}),
        EdgeType("Works", "Person", "Company"),
    ],
)
NEW_PERSON = {"append": {PERSON: [{"id": "new", "nick": "written later"}]}}
NEW_PLAIN_PERSON = {"append": {PERSON: [{"id": "new", "name": "written later"}]}}


def change(repo: Repository, branch: str = "main", **rows: Any) -> str:
    """Publish one commit: upserts of people by ``id=age``; return the id of the commit."""
    with repo.transaction(branch, message=f"set {', '.join(rows)}") as tx:
        tx.upsert(PERSON, [{"id": name, "age": age} for name, age in rows.items()])
    assert tx.commit is not None
    return tx.commit.graph_commit_id


def start(uri: Path) -> Repository:
    """Create a repository with a few nodes and edges."""
    repo = Repository.init(uri, SCHEMA, actor="ann", durability="none")
    with repo.transaction(message="first load", operation_hash="load 1") as tx:
        tx.append(PERSON, [{"id": f"p{n}", "age": 20 + n, "nick": f"nick {n}"} for n in range(6)])
        tx.append(COMPANY, [{"id": "c0", "name": "Oslo AS"}, {"id": "c1", "name": "Ærø & 人"}])
        tx.append(KNOWS, [{"id": "k0", "src": "p0", "dst": "p1", "since": date(2020, 2, 29)}])
        tx.append(WORKS, [{"id": "w0", "src": "p0", "dst": "c0"}])
    return repo


def write_branches(uri: Path) -> dict[str, Any]:
    """Write branches, tags, merges, a revert, runs and staged writes."""
    with start(uri) as repo:
        repo.tags.create("v1", actor="bob", message="as delivered")
        with repo.transaction(actor="bob") as tx:
            tx.upsert(PERSON, [{"id": "p1", "age": 99}])
            tx.delete(PERSON, ids=["p5"])
            tx.overwrite(COMPANY, [{"id": "c0", "name": "Oslo ASA"}, {"id": "c2"}])
        with repo.transaction(message="staged", operation_hash="staged 1") as tx:
            target = tx.stage(PERSON)
            parts = [target.write(pa.table({"id": [f"s{n}"], "age": [n]})) for n in range(2)]
            tx.append_staged(PERSON, parts)
        for name, source in [("team/a", "main"), ("team/a/deep", "team/a"), ("deepest", "v1")]:
            repo.branches.create(name, source)
            change(repo, name, **{f"on-{name.replace('/', '-')}": 1})
        repo.branches.create("below/the/deepest", "deepest")
        change(repo, "below/the/deepest", bottom=5)
        with repo.transaction("team/a") as tx:
            tx.append(KNOWS, [{"id": "k1", "src": "on-team-a", "dst": "p0"}])
        repo.branches.create("unwritten", "v1")
        undone = change(repo, p0=1000)
        repo.revert(undone, message="take it back")
        repo.branches.create("forward")
        change(repo, "forward", forward=2)
        repo.branches.merge("forward", actor="cat", message="fast forward")
        repo.branches.create("merged")
        change(repo, "merged", left=3)
        change(repo, right=4)
        repo.branches.merge("merged", message="two parents")
        repo.branches.create("conflict")
        change(repo, "conflict", p2=1)
        archived = []
        for name in ("gone", "gone-but-tagged"):
            repo.branches.create(name)
            archived.append(change(repo, name, **{name: 6}))
            if name == "gone":
                repo.branches.merge(name)
            else:
                repo.tags.create("kept/after deletion".replace(" ", "-"), name)
            repo.branches.delete(name, force=True)
        change(repo, p2=2)
        run_all(repo)
    return {**NEW_PERSON, "archived": archived}


def run_all(repo: Repository) -> None:
    """Leave a run of each status."""
    for number, end in enumerate(["publish", "fail", "abort", "run", "run"]):
        target = "team/a" if number == 4 else "main"
        run = repo.runs.begin(target, operation_hash=f"run {number}", actor="nightly")
        with run.transaction(message="a step") as tx:
            tx.append(PERSON, [{"id": f"run-{number}", "age": number}])
        if end == "publish":
            run.publish("done by a run")
        elif end == "fail":
            run.fail("no space left")
        elif end == "abort":
            run.abort()
    repo.runs.begin(actor="nobody did anything").publish()


ITEM = {
    "name": pa.string(),
    "code": pa.int64(),
    "kind": pa.int8(),
    "text": pa.string(),
    "place": pa.list_(pa.float32(), 4),
    "price": pa.decimal128(12, 3),
    "at": pa.timestamp("us", tz="UTC"),
    "day": pa.date32(),
    "tags": pa.list_(pa.string()),
    "size": pa.struct([pa.field("w", pa.float64()), pa.field("h", pa.float64())]),
    "blob": pa.binary(),
    "flag": pa.bool_(),
    "big": pa.uint64(),
}
INDEXES = {"name": "btree", "kind": "bitmap", "text": "full_text", "place": "vector"}


def item(number: int) -> dict[str, Any]:
    """Return one row with a value of each type."""
    return {
        "id": f"i{number:03d}",
        "name": f"name {number}",
        "code": number,
        "kind": number % 3,
        "text": f"the word{number % 50} of number {number}",
        "place": [number / 4, 1.0, -float(number), 0.5],
        "price": Decimal(number) / 8,
        "at": datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(hours=number),
        "day": date(2026, 1, 1) + timedelta(days=number),
        "tags": [f"t{number % 2}", None] if number % 4 else None,
        "size": {"w": number / 2, "h": None},
        "blob": bytes([number % 256, 0, 255]),
        "flag": number % 2 == 0 if number % 5 else None,
        "big": 2**63 + number,
    }


def write_types(uri: Path) -> dict[str, Any]:
    """Write values of many types, constraints, indexes, evolutions and tombstones."""
    old = {name: type_ for name, type_ in ITEM.items() if name not in {"big", "flag"}}
    first = GraphSchema(
        nodes=[
            NodeType("Item", {**old, "legacy": pa.string()}, required=["name"], unique=["code"]),
            NodeType("Obsolete", {"x": pa.int32()}),
            NodeType("Revived", {"x": pa.int32()}),
        ],
        edges=[EdgeType("Part", "Item", "Item"), EdgeType("Gone", "Item", "Obsolete")],
    )
    second = GraphSchema(
        nodes=[
            NodeType("Item", ITEM, required=["name"], unique=["code", "big"], indexes=INDEXES),
            NodeType("Added", {"note": pa.string()}, indexes={"note": "ngram"}),
        ],
        edges=[EdgeType("Part", "Item", "Item", {"count": pa.int16()}, required=[])],
    )
    third = GraphSchema(
        nodes=[*second.nodes, NodeType("Revived", {"y": pa.string()})], edges=second.edges
    )
    with Repository.init(uri, first, durability="none") as repo:
        rows = [{name: item(n)[name] for name in ("id", *old)} for n in range(150)]
        with repo.transaction() as tx:
            tx.append("node:Item", [{**row, "legacy": "old"} for row in rows])
            tx.append("node:Obsolete", [{"id": "o", "x": 1}])
            tx.append("node:Revived", [{"id": "r", "x": 1}])
            tx.append("edge:Part", [{"id": "e", "src": "i000", "dst": "i001"}])
            tx.append("edge:Gone", [{"id": "g", "src": "i000", "dst": "o"}])
        repo.tags.create("before-evolve")
        repo.branches.create("old-schema")
        repo.branches.create("evolved-by-itself")
        with repo.transaction("old-schema") as tx:
            tx.delete("edge:Part", ids=["e"])
        repo.evolve(second, actor="ann", message="drop three types, add one")
        with repo.transaction() as tx:
            tx.upsert("node:Item", [item(n) for n in range(140, 160)])
            tx.append("node:Added", [{"id": "a", "note": "grün"}])
            tx.append("edge:Part", [{"id": "f", "src": "i001", "dst": "i159", "count": 2}])
        repo.evolve(third)
        with repo.transaction() as tx:
            tx.append("node:Revived", [{"id": "r", "y": "another column"}])
        repo.evolve(
            GraphSchema(nodes=first.nodes, edges=[EdgeType("Part", "Item", "Item")]),
            branch="evolved-by-itself",
        )
        repo.optimize(message="build indexes")
        with repo.transaction() as tx:
            tx.append("node:Item", [item(160)])  # beyond what the indexes cover
    new = {"id": "new", "name": "written later", "code": 10_000}
    return {"append": {"node:Item": [new]}, "archived": []}


def write_cleaned(uri: Path) -> dict[str, Any]:
    """Write a long history, compacted by its writers, optimized and cleaned."""
    with start(uri) as repo:
        for number in range(70):
            change(repo, **{f"n{number % 7}": number})
            if number == 20:
                repo.tags.create("twenty")
            if number == 40:
                repo.branches.create("side")
                change(repo, "side", sidestep=1)
        repo.branches.create("away")
        archived = [change(repo, "away", away=1)]
        repo.branches.delete("away")
        repo.optimize()
        now = repo._clock
        repo._clock = repo._leases._clock = lambda: now() + timedelta(days=9)
        report = repo.cleanup(dry_run=False)
        assert report.table_versions.count > 50
        assert report.catalog_versions.count > 50
        repo._clock = repo._leases._clock = now
        change(repo, after=1)
    return {**NEW_PERSON, "archived": archived}


def write_old_names(uri: Path) -> dict[str, Any]:
    """Write a table whose version files have the names of Lance's first scheme."""
    key = "node:Older"
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("x", pa.int32())])
    with start(uri) as repo:
        lance.write_dataset(
            pa.table({"id": ["old"], "x": [1]}, schema=schema),
            uri / table_path(key),
            enable_v2_manifest_paths=False,
            enable_stable_row_ids=True,
            data_storage_version="2.2",
        )
        repo.publish([
            RegisterTable(table_key=key, table_path=table_path(key)),
            TableUpdate(table_key=key, table_version=1, row_count=1),
        ])  # fmt: skip
        repo.branches.create("side")
        for branch in ("main", "side"):
            with repo.transaction(branch) as tx:
                tx.append(key, [{"id": f"by {branch}", "x": 2}])
    return {"append": {key: [{"id": "new"}]}, "archived": []}


def write_version_1(uri: Path) -> dict[str, Any]:
    """Write a catalog of internal schema version 1, with keys that occur twice, and branches."""
    made = OtherPublisher(uri)
    made.create(version=1)
    made.publish(PERSON, [{"id": "a", "name": "Ann"}, {"id": "b"}], "first")
    made.publish(KNOWS, [{"id": "e", "src": "a", "dst": "b"}], "second")
    rows = made.manifest().to_table().to_pylist()
    made.merge([row for row in rows if row["table_key"] == PERSON])
    for path in ("_graph_commits.lance", "__manifest"):
        lance.dataset(str(uri / path)).create_branch("feature/x")
    with Repository.open(uri, durability="none") as repo:
        repo.branches.create("side")
        repo.tags.create("second", "second")
    made.publish(PERSON, [{"id": "c"}], "third")
    return {**NEW_PLAIN_PERSON, "archived": []}


def write_other_publisher(uri: Path) -> dict[str, Any]:
    """Write a catalog by merge-insert without ``publish`` rows, in turns with this program."""
    made = OtherPublisher(uri)
    made.create()
    made.publish(PERSON, [{"id": "a", "name": "Ann"}, {"id": "b"}], "first")
    made.publish(KNOWS, [{"id": "e", "src": "a", "dst": "b"}], "second")
    for number in range(3):
        with Repository.open(uri, durability="none", actor="ours") as repo:
            with repo.transaction(message="between", operation_hash=f"ours {number}") as tx:
                tx.append(PERSON, [{"id": f"ours {number}"}])
            if number == 1:
                repo.branches.create("side")
                with repo.transaction("side") as tx:
                    tx.delete(KNOWS, ids=["e"])
        made.publish(PERSON, [{"id": f"theirs {number}"}], f"theirs {number}")
    for path in ("_graph_commits.lance", "__manifest"):
        lance.dataset(str(uri / path)).create_branch("feature/x")
    return {**NEW_PLAIN_PERSON, "archived": []}


def write_original_files(uri: Path) -> dict[str, Any]:
    """Write a repository of the original program, with its files."""
    made = OtherPublisher(uri)
    made.create()
    made.publish(PERSON, [{"id": "a", "name": "Ann"}, {"id": "b"}], "first")
    made.publish(KNOWS, [{"id": "e", "src": "a", "dst": "b"}], "second")
    for path in ("_graph_commits.lance", "__manifest"):
        lance.dataset(str(uri / path)).create_branch("feature/x")
    (uri / "_schema.pg").write_text("node Person { name: String? }\nedge Knows: Person -> Person\n")
    (uri / "_schema.ir.json").write_text('{"ir_version": 1, "nodes": [], "edges": []}')
    (uri / "__schema_state.json").write_text('{"format_version": 1}')
    return {"archived": []}


def write_auto_cleanup(uri: Path) -> dict[str, Any]:
    """Write a repository with Lance's own cleanup configured on one table, as the original did."""
    with start(uri) as repo:
        change(repo, p0=1)
        repo.branches.create("side")
        change(repo, "side", p0=2)
        entry = repo.snapshot().tables[PERSON]
    config = {"lance.auto_cleanup.interval": "20", "lance.auto_cleanup.older_than": "14days"}
    lance.dataset(str(uri / entry.table_path)).update_config(config)
    return {"archived": []}


def _lose_companies(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.upsert(COMPANY, [{"id": "c0", "name": "never published"}, {"id": "lost", "name": None}])


def _wider() -> GraphSchema:
    person, company = SCHEMA.nodes
    person = NodeType("Person", {**person.properties, "height": pa.float32()})
    return GraphSchema(nodes=[person, company], edges=SCHEMA.edges)


INTERRUPTED: dict[str, tuple[str, Callable[[Repository], object]]] = {
    "publish": ("l2.publish.visible", lambda repo: change(repo, seen=2)),
    "fork": ("l2.table.forked", lambda repo: change(repo, "side", lost=3)),
    "branch": ("l2.branch.catalog_forked", lambda repo: repo.branches.create("unborn")),
    "delete": ("l2.branch.unnamed", lambda repo: repo.branches.delete("doomed")),
    "begin": ("l2.run.named", lambda repo: repo.runs.begin(operation_hash="begun")),
    "run": ("l2.pointer.advanced", lambda repo: repo.runs.list("running")[0].publish("seen")),
    "merge": ("l2.merge.written", lambda repo: repo.branches.merge("other")),
    "evolve": ("l2.evolve.added", lambda repo: repo.evolve(_wider())),
    "commit": ("l2.table.committed", _lose_companies),
    "last": ("l2.publish.visible", lambda repo: change(repo, last=4)),
}


def write_interrupted(uri: Path) -> dict[str, Any]:
    """Write what processes leave behind that are killed in the middle of an operation."""
    with start(uri) as repo:
        for name in ("side", "other", "doomed"):
            repo.branches.create(name)
        change(repo, "other", other=1)
        archived = [change(repo, "doomed", doomed=1)]
        run = repo.runs.begin(operation_hash="published", actor="nightly")
        with run.transaction() as tx:
            tx.append(COMPANY, [{"id": "by the run"}])
    for name in INTERRUPTED:
        script = [sys.executable, str(Path(__file__).with_name("write_golden.py"))]
        ended = subprocess.run([*script, "--interrupt", name, str(uri)], check=False)
        assert ended.returncode == -signal.SIGKILL, name
    return {**NEW_PERSON, "archived": archived}


def interrupt(name: str, uri: str) -> None:
    """Begin an operation, and kill this process in the middle of it."""
    point, operation = INTERRUPTED[name]

    def die(passed: str) -> None:
        if passed == point:
            os.kill(os.getpid(), signal.SIGKILL)

    repo = Repository.open(uri, durability="none", actor="killed")
    with handling(die):
        operation(repo)


HISTORIES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "branches": write_branches,
    "types": write_types,
    "cleaned": write_cleaned,
    "interrupted": write_interrupted,
    "old_names": write_old_names,
    "version_1": write_version_1,
    "other_publisher": write_other_publisher,
    "original_files": write_original_files,
    "auto_cleanup": write_auto_cleanup,
}
