"""People and who knows whom, over HTTP: a service on omnigraph-l2 alone.

Any number of processes may serve one repository. Each has one ``Repository``, shared by its
threads, opened when it starts and closed when it ends. Start it with

    OMNIGRAPH_URI=people uvicorn service:app --workers 4

Endpoints are plain functions: FastAPI runs them in its threads, so that nothing blocks the loop.
What every status means is in docs/services.md.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio.to_thread
import pyarrow as pa
from fastapi import Body, Depends, FastAPI, Header, HTTPException, Path, Request, Response
from problems import answer_problems
from pydantic import BaseModel

from omnigraph_l2 import (
    EdgeType,
    GraphCommit,
    GraphSchema,
    NodeType,
    Repository,
    Snapshot,
    Transaction,
)
from omnigraph_l2.errors import OperationRepeated, RepositoryExists

SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"name": pa.string(), "points": pa.int64()}, required=["name"])],
    edges=[EdgeType("Knows", "Person", "Person", {"since": pa.int32()})],
)
PERSON, KNOWS = "node:Person", "edge:Knows"


class Person(BaseModel):
    """What is said of a person; the id is in the address."""

    name: str
    points: int = 0


class Graph(BaseModel):
    """Rows of several tables, which become visible together."""

    people: list[dict[str, Any]] = []
    knows: list[dict[str, Any]] = []


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the repository of this process, and close it when the last request was answered."""
    repo = await anyio.to_thread.run_sync(opened, os.environ["OMNIGRAPH_URI"])
    app.state.repo = repo
    try:
        yield
    finally:
        await anyio.to_thread.run_sync(repo.close)


def opened(uri: str) -> Repository:
    """Open a repository, or make it: of several processes that start at once, one does."""
    options = json.loads(os.environ.get("OMNIGRAPH_STORAGE_OPTIONS", "null"))
    try:
        return Repository.init(uri, SCHEMA, options, actor="service")
    except RepositoryExists:
        return Repository.open(uri, options, actor="service")


app = FastAPI(title="People", lifespan=lifespan)
answer_problems(app)


def repository(request: Request) -> Repository:
    """Give the repository of this process."""
    repo: Repository = request.app.state.repo
    return repo


Repo = Annotated[Repository, Depends(repository)]
PersonId = Annotated[str, Path(min_length=1, max_length=100)]
IfMatch = Annotated[str | None, Header()]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)]


@app.get("/health")
async def health() -> dict[str, str]:
    """Say that this process answers. It asks nothing of the store."""
    return {"status": "ok"}


@app.get("/people/{person_id}")
def read_person(person_id: PersonId, repo: Repo, response: Response) -> dict[str, Any]:
    """Read a person; the ETag says which state of it this is."""
    row = found(repo.snapshot(), person_id)
    if row is None:
        raise HTTPException(404, f"There is no person {person_id!r}.")
    response.headers["ETag"] = etag(row)
    return row


@app.put("/people/{person_id}")
def put_person(
    person_id: PersonId,
    person: Annotated[Person, Body()],
    repo: Repo,
    response: Response,
    if_match: IfMatch = None,
    if_none_match: Annotated[str | None, Header()] = None,
    key: Key = None,
) -> dict[str, Any]:
    """Make or replace a person: any state, or only the one that If-Match names."""
    row = {"id": person_id, **person.model_dump()}

    def change(tx: Transaction) -> None:
        tx.expect(PERSON)  # what is compared here must still be so at the moment of the publish
        before = found(tx.snapshot, person_id)
        if if_none_match == "*" and before is not None:
            raise HTTPException(412, f"Person {person_id!r} is there already. Read it.")
        if if_match is not None and (before is None or etag(before) != if_match):
            raise HTTPException(412, f"Person {person_id!r} changed. Read it and decide anew.")
        tx.upsert(PERSON, [row])

    commit = published(repo, change, key, row)
    response.headers["ETag"] = etag(row)
    return {"commit": commit.graph_commit_id}


@app.delete("/people/{person_id}", status_code=204)
def delete_person(person_id: PersonId, repo: Repo, key: Key = None) -> None:
    """Delete a person and the edges that end at it."""

    def change(tx: Transaction) -> None:
        tx.expect(PERSON)
        if found(tx.snapshot, person_id) is None:
            raise HTTPException(404, f"There is no person {person_id!r}.")
        quoted = person_id.replace("'", "''")
        tx.delete(KNOWS, f"src = '{quoted}' OR dst = '{quoted}'")
        tx.delete(PERSON, ids=[person_id])

    published(repo, change, key, {"delete": person_id})


@app.get("/graph")
def read_graph(repo: Repo, response: Response) -> dict[str, list[dict[str, Any]]]:
    """Read everything, as one commit left it; the ETag is that commit."""
    snapshot = repo.snapshot()
    response.headers["ETag"] = f'"{head(snapshot)}"'
    return {"people": snapshot.read(PERSON).to_pylist(), "knows": snapshot.read(KNOWS).to_pylist()}


@app.post("/graph", status_code=201)
def add_to_graph(
    graph: Annotated[Graph, Body()], repo: Repo, if_match: IfMatch = None, key: Key = None
) -> dict[str, Any]:
    """Add new people and edges, all of them or none; with If-Match only to the commit it names."""

    def change(tx: Transaction) -> None:
        if if_match is not None:
            for table in tx.snapshot.tables:
                tx.expect(table)
            if if_match != f'"{head(tx.snapshot)}"':
                raise HTTPException(412, "The graph changed. Read it and decide anew.")
        for table, rows in ((PERSON, graph.people), (KNOWS, graph.knows)):
            if rows:
                tx.append(table, rows)

    commit = published(repo, change, key, graph.model_dump())
    return {"commit": commit.graph_commit_id}


@app.get("/commits/{commit_id}")
def read_commit(commit_id: str, repo: Repo) -> dict[str, Any]:
    """Tell whether a commit happened: where to look after an answer that was lost."""
    commit = repo.commit(commit_id)
    return {"commit": commit.graph_commit_id, "message": commit.message, "at": commit.created_at}


def published(
    repo: Repository, change: Callable[[Transaction], None], key: str | None, request: object
) -> GraphCommit:
    """Publish a change, again on the newest state after each lost race; once for each key.

    The message of the commit says which request it was, so that a key is not used for another.
    """
    text = json.dumps(request, sort_keys=True, default=str)
    message = f"request {hashlib.sha256(text.encode()).hexdigest()}"

    def once(tx: Transaction) -> Transaction:
        if not tx.is_repeat:
            change(tx)
        return tx

    try:
        commit = repo.retry(once, message=message, operation_hash=key, timeout=10).commit
    except OperationRepeated as repeated:  # at this very moment, by another process
        commit = repo.commit(repeated.commit_id)
    if commit is None:
        raise HTTPException(422, "This request changes nothing: it has no rows.")
    if commit.message != message:
        raise HTTPException(422, f"The Idempotency-Key {key!r} was used for another request.")
    return commit


def found(snapshot: Snapshot, person_id: str) -> dict[str, Any] | None:
    """Give the row of a person, through the index of ids."""
    rows: list[dict[str, Any]] = snapshot.find(PERSON, [person_id]).to_pylist()
    return rows[0] if rows else None


def etag(row: dict[str, Any]) -> str:
    """Name the state of a row."""
    return f'"{hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:32]}"'


def head(snapshot: Snapshot) -> str:
    """Name the commit that a snapshot shows."""
    return "" if snapshot.commit is None else snapshot.commit.graph_commit_id
