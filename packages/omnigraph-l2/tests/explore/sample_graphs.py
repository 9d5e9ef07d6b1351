"""Sample repositories: one with a history, one with hostile names and values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphCommit, GraphSchema, NodeType, Repository

__all__ = ["HOSTILE", "HOSTILE_NAME", "KNOWS", "PERSON", "commit_on", "hostile", "story"]

PERSON = "node:Person"
KNOWS = "edge:Knows"

HOSTILE_NAME = "<img src=x onerror=hit()>"
HOSTILE = (
    "</script><script>hit()</script>",
    "<img src=x onerror=hit()>",
    "<!--<script>",
    "<svg/onload=hit()>",
    "javascript:hit()",
    "{{constructor.constructor('hit()')()}}",
    "\u202egnp.exe",
    "\u2066\u2067isolated",
    "\x01\x07\x1b[31mred",
    "line\u2028separator",
    "' OR 1=1 --",
    "]]><script>hit()</script>",
    "&lt;b&gt;",
)


def schema(*, age: bool = False) -> GraphSchema:
    """Return the types of the story; later on, people have an age."""
    properties: dict[str, pa.DataType] = {"name": pa.string(), "city": pa.string()}
    if age:
        properties["age"] = pa.int32()
    return GraphSchema(
        nodes=[NodeType("Person", properties, required=["name"])],
        edges=[EdgeType("Knows", "Person", "Person", {"since": pa.int32()})],
    )


def commit_on(
    repo: Repository, branch: str, message: str | None, *, actor: str = "ann", **tables: Any
) -> GraphCommit:
    """Publish some people and edges."""
    with repo.transaction(branch, message=message, actor=actor) as tx:
        if "people" in tables:
            tx.upsert(PERSON, tables["people"])
        if "gone" in tables:
            tx.delete(PERSON, ids=tables["gone"])
        if "knows" in tables:
            tx.upsert(KNOWS, tables["knows"])
    assert tx.commit is not None
    return tx.commit


def person(name: str, city: str = "Oslo") -> dict[str, Any]:
    """Return a row."""
    return {"id": name.lower(), "name": name, "city": city}


def story(location: Path) -> dict[str, str]:
    """Create a repository with every kind of history; return its commits by short names."""
    with Repository.init(location, schema(), actor="ann", durability="none") as repo:
        made = {"genesis": repo.log()[-1]}
        made["first"] = commit_on(
            repo, "main", "first load\n\nfrom the old books",
            people=[person("Ann"), person("Bob", "Rome"), person("Cat")],
            knows=[{"id": "ab", "src": "ann", "dst": "bob", "since": 2019}],
        )  # fmt: skip
        repo.tags.create("v1", message="as delivered")
        repo.branches.create("gone")
        made["aside"] = commit_on(repo, "gone", "Dan comes", actor="dan", people=[person("Dan")])
        made["main"] = commit_on(
            repo, "main", "Ann moves, Cat goes", people=[person("Ann", "Riga")], gone=["cat"]
        )
        result = repo.branches.merge("gone", message="what Dan did", actor="ann")
        assert result.commit is not None
        made["merge"] = result.commit
        repo.branches.delete("gone")
        repo.branches.create("what-if")
        made["what-if"] = commit_on(
            repo, "what-if", None, actor="bob", people=[person("Eve", "Lyon")]
        )
        evolved = repo.evolve(schema(age=True), message="people have an age")
        assert evolved is not None
        made["evolved"] = evolved
        with repo.transaction(message="Bob is 40", actor="ann") as tx:
            tx.upsert(PERSON, [{"id": "bob", "name": "Bob", "age": 40}])
        assert tx.commit is not None
        made["head"] = tx.commit
    return {name: each.graph_commit_id for name, each in made.items()}


def hostile(location: Path) -> str:
    """Create a repository in which every name and value is an attack; return its newest commit."""
    types = GraphSchema(
        nodes=[NodeType(HOSTILE_NAME, {"<script>hit()</script>": pa.string()})],
        edges=[EdgeType("</script>x", HOSTILE_NAME, HOSTILE_NAME, {"on=hit()": pa.string()})],
    )
    key, edge = f"node:{HOSTILE_NAME}", "edge:</script>x"
    with Repository.init(location, types, actor=HOSTILE[1], durability="none") as repo:
        for text in HOSTILE:
            with repo.transaction(message=f"{text}\n{text}", actor=HOSTILE[0]) as tx:
                tx.append(key, [{"id": text, "<script>hit()</script>": text}])
        with repo.transaction(message=HOSTILE[0], actor=HOSTILE[0]) as tx:
            tx.upsert(key, [{"id": HOSTILE[0], "<script>hit()</script>": HOSTILE[1]}])
            tx.append(
                edge,
                [{"id": HOSTILE[0], "src": HOSTILE[0], "dst": HOSTILE[1], "on=hit()": HOSTILE[2]}],
            )
        assert tx.commit is not None
        return tx.commit.graph_commit_id
