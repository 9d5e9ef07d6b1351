"""One graph, several writers, no server: what omnigraph-l2 does, shown on your own disk.

Run it with ``python3 dev.py demo``. It leaves the repository behind, to play with.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Transaction
from omnigraph_l2.errors import DanglingEdges, ExpectedVersionMismatch

HERE = Path("omnigraph-demo")
GRAPH = HERE / "graph"

PERSON = NodeType("Person", {"name": pa.string(), "city": pa.string()})
KNOWS = EdgeType("Knows", "Person", "Person", {"since": pa.int32()})


def say(text: str) -> None:
    """Tell what comes next."""
    print(f"\n● {text}")


def cities(repo: Repository, branch: str = "main") -> dict[str, str]:
    """Read who lives where."""
    rows = repo.snapshot(branch).read("node:Person").to_pylist()
    return {row["name"]: row["city"] for row in sorted(rows, key=lambda row: row["id"])}


def load(ann: Repository, bob: Repository) -> str:
    """Publish nodes and edges together, while somebody else looks; give the commit."""
    say("Nodes and edges in one transaction. Until it ends, only the transaction sees them.")
    with ann.transaction(message="first load") as tx:
        people = [("a", "Ann", "Oslo"), ("b", "Bob", "Rome"), ("c", "Cat", "Riga")]
        rows = [{"id": key, "name": name, "city": city} for key, name, city in people]
        tx.append("node:Person", rows)
        tx.append("edge:Knows", [{"id": "ab", "src": "a", "dst": "b", "since": 2019}])
        mine = tx.read("node:Person").num_rows
        theirs = bob.snapshot().tables["node:Person"].row_count
        print(f"  inside: the transaction reads {mine} people, somebody else {theirs}")
    after = bob.snapshot()
    people_now, edges_now = (after.tables[key].row_count for key in ("node:Person", "edge:Knows"))
    print(f"  after:  somebody else reads {people_now} people and {edges_now} edge, both at once")
    commit = after.commit
    assert commit is not None
    return commit.graph_commit_id


def refuse_a_dangling_edge(repo: Repository) -> None:
    """Try to add an edge to nobody."""
    say("An edge to a node that is not there is refused, and nothing of its transaction is seen.")
    try:
        with repo.transaction() as tx:
            tx.append("node:Person", [{"id": "d", "name": "Dan"}])
            tx.append("edge:Knows", [{"id": "dz", "src": "d", "dst": "zoe"}])
    except DanglingEdges as error:
        print(f"  {error.kind}: {error.table_key}, {error.column} = {error.missing[0]!r}")
    print("  people:", ", ".join(cities(repo)))


def race(ann: Repository, bob: Repository) -> None:
    """Let two writers meet: what can be put on top of the other is, what cannot is refused."""
    say("Two add rows to one table at the same time. Both are wanted, so both are there.")
    with ann.transaction(message="Dan comes") as tx:
        tx.append("node:Person", [{"id": "d", "name": "Dan", "city": "Bern"}])
        with bob.transaction(message="Eve comes") as other:
            other.append("node:Person", [{"id": "e", "name": "Eve", "city": "Lyon"}])
    print("  people:", ", ".join(cities(ann)))

    say("Ann moves to where Bob lives, and Bob moves at that moment. Ann's plan is out of date.")
    try:
        with ann.transaction(message="Ann moves to Bob") as tx:
            move_to_bob(tx)
            with bob.transaction(message="Bob moves to Paris") as other:
                other.upsert("node:Person", [{"id": "b", "city": "Paris"}])
    except ExpectedVersionMismatch as error:
        print(f"  {error.kind}: {error.table_key} was at {error.expected}, is at {error.actual}")
    ann.retry(move_to_bob, message="Ann moves to Bob")
    print(f"  repo.retry reads again, and decides anew: Ann lives in {cities(ann)['Ann']}")


def move_to_bob(tx: Transaction) -> None:
    """Move Ann to where Bob lives, as this transaction reads it."""
    (bob,) = tx.read("node:Person", filter="id = 'b'").to_pylist()
    tx.upsert("node:Person", [{"id": "a", "city": bob["city"]}])


def write_and_die() -> None:
    """Change a table, and be killed before it is published."""
    with Repository.open(GRAPH).transaction() as tx:
        tx.append("node:Person", [{"id": "ghost", "name": "Ghost"}])
        tx.read("node:Person")  # now the rows are in the dataset, and in no commit
        os.kill(os.getpid(), signal.SIGKILL)


def crash(repo: Repository) -> None:
    """Kill a writer, and go on."""
    say("A process is killed (SIGKILL) in the middle. The next writer needs no repair.")
    process = multiprocessing.get_context("spawn").Process(target=write_and_die)
    process.start()
    process.join()
    with repo.transaction(message="Fay comes") as tx:
        tx.append("node:Person", [{"id": "f", "name": "Fay", "city": "Bonn"}])
    print(f"  exit {process.exitcode}; people: {', '.join(cities(repo))}")


def branch_and_run(repo: Repository) -> None:
    """Work beside main."""
    say("A branch costs no copy. What happens there is not seen on main.")
    repo.branches.create("what-if")
    with repo.transaction("what-if", message="everybody to Rome") as tx:
        tx.upsert("node:Person", [{"id": key, "city": "Rome"} for key in "abcdef"])
    print("  on what-if:", set(cities(repo, "what-if").values()))
    print("  on main:   ", set(cities(repo).values()) & {"Rome"} or "nobody in Rome")

    say("A run is many steps that become one commit. Begun again by its name, it is the same one.")
    run = repo.runs.begin(operation_hash="import of Monday")
    for key, since in (("bc", 2021), ("cd", 2022), ("de", 2023)):
        with run.transaction() as tx:
            tx.append("edge:Knows", [{"id": key, "src": key[0], "dst": key[1], "since": since}])
    before = repo.snapshot().tables["edge:Knows"].row_count
    run.publish("import of Monday")
    after = repo.snapshot().tables["edge:Knows"].row_count
    again = repo.runs.begin(operation_hash="import of Monday")
    print(f"  edges on main: {before} before the publish, {after} after it")
    print(f"  begun again: the same run: {again.run_id == run.run_id}, {again.status.value}")


def evolve(repo: Repository) -> None:
    """Add a property, after a look at the plan."""
    say("The schema changes as one commit, too. The plan can be seen before.")
    wider = NodeType("Person", {**PERSON.properties, "age": pa.int32()})
    wanted = GraphSchema(nodes=[wider], edges=[KNOWS])
    print(f"  {repo.plan_evolution(wanted)}")
    repo.evolve(wanted, message="people have an age")


def main() -> None:
    """Tell the story."""
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    print("A graph in a folder: a table of people, a table of who knows whom. Two handles on it,")
    print("as two programs would have. An acknowledged commit is on the platter (fsync).")
    ann = Repository.init(GRAPH, GraphSchema(nodes=[PERSON], edges=[KNOWS]), actor="ann")
    bob = Repository.open(GRAPH, actor="bob")

    first = load(ann, bob)
    refuse_a_dangling_edge(ann)
    race(ann, bob)
    crash(ann)
    branch_and_run(ann)
    evolve(ann)

    say("Every commit can be read again. The first one:")
    rows = ann.snapshot(commit=first).read("node:Person", columns=["name", "city"])
    print(f"  {rows.to_pylist()}")

    say("The log, newest first: who, and why.")
    for commit in ann.log():
        print(f"  {commit.actor_id}: {commit.message or 'the beginning'}")
    for repo in (ann, bob):
        repo.close()

    print(f"\nThe graph is in {GRAPH}. Look at it:")
    print("  .nox/demo/bin/python")
    print(f"  >>> from omnigraph_l2 import Repository; repo = Repository.open({str(GRAPH)!r})")
    print("  >>> repo.snapshot().read('node:Person').to_pylist(), repo.branches.list()")


if __name__ == "__main__":
    main()
