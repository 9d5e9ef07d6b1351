"""Changes that many writers stage, and the process that is killed while it commits them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tx_support import KNOWS, PERSON, edge, made

from omnigraph_l2 import Repository, StagedChange, Transaction

__all__ = ["deletes", "everything", "person", "staged_job", "start", "upserts"]

Row = dict[str, Any]


def person(name: str, age: int | None = None) -> Row:
    """Make a person."""
    return {"id": name, "name": name.upper(), "age": age}


def upserts(tx: Transaction, key: str, *parts: Sequence[Row]) -> list[StagedChange]:
    """Write rows by a writer for each part, as another process would."""
    target = pickle.dumps(tx.stage_changes(key))
    return [pickle.loads(pickle.dumps(pickle.loads(target).upsert(part))) for part in parts]


def deletes(tx: Transaction, key: str, *parts: Sequence[str]) -> list[StagedChange]:
    """Delete by a writer for each part."""
    target = pickle.dumps(tx.stage_changes(key))
    return [pickle.loads(pickle.dumps(pickle.loads(target).delete(part))) for part in parts]


def everything(repo: Repository, key: str = PERSON, **when: Any) -> dict[str, Row]:
    """Give all rows by id; an id that stands twice is an error."""
    rows = repo.snapshot(**when).read(key).to_pylist()
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def start(location: Path) -> Sequence[str]:
    """Make the repository that is to be changed."""
    with made(location / "repo"):
        return [str(location / "repo")]


def staged_job(uri: str) -> None:
    """Change one table, delete from another and replace nothing, in one publish."""
    with Repository.open(uri, durability="none") as repo, repo.transaction() as tx:
        parts = upserts(tx, PERSON, [person("a", 9), person("c", 3)], [person("d", 4)])
        gone = deletes(tx, KNOWS, ["e"])
        new = tx.stage(KNOWS).write([edge("f", "c", "d")])
        tx.change_staged(PERSON, parts)
        tx.change_staged(KNOWS, gone)
        tx.append_staged(KNOWS, new)
