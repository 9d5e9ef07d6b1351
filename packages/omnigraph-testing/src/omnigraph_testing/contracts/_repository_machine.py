"""Random transactions on a repository, beside a model of plain dictionaries.

Always: a transaction is published if, and only if, the model takes all of it; after each, every
table has the model's rows, and every commit made so far still shows what it showed.
"""

# ruff: noqa: PT017, S101 - it is a test, to be run by others

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeAlias

from omnigraph_l2 import Repository, Transaction
from omnigraph_l2.errors import DanglingEdges, DuplicateIds

__all__ = ["run_against_model"]

_PERSON, _CITY, _LIVES = "node:Person", "node:City", "edge:Lives"
_STEPS = 25
_IDS = [f"i{number}" for number in range(8)]

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, dict[str, Row]]


class _Refused(Exception):
    """The model does not take the transaction."""


def run_against_model(
    repository: Repository, reopened: Callable[[], Repository], *, seed: int = 0
) -> None:
    """Do random transactions, by two handles in turns, and compare after each."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    model: Tables = {_PERSON: {}, _CITY: {}, _LIVES: {}}
    handles = [repository, reopened()]
    past: list[tuple[str, Tables]] = []
    for _ in range(_STEPS):
        handle = draw.choice(handles)
        planned = [_operation(draw) for _ in range(draw.randint(1, 4))]
        after = deepcopy(model)
        try:
            for kind, table_key, rows in planned:
                _apply(after[table_key], kind, rows)
            _check_edges(after)
        except _Refused:
            after = model
            expected_to_pass = False
        else:
            expected_to_pass = True
        try:
            with handle.transaction() as tx:
                for kind, table_key, rows in planned:
                    _do(tx, kind, table_key, rows)
        except (DuplicateIds, DanglingEdges) as error:
            assert not expected_to_pass, (planned, error)
        else:
            assert expected_to_pass, planned
            if tx.commit is not None:
                past.append((tx.commit.graph_commit_id, deepcopy(after)))
        model = after
        _compare(draw.choice(handles), model)
    for commit_id, tables in past:
        _compare(handles[0], tables, commit_id)


def _operation(draw: random.Random) -> tuple[str, str, list[Row]]:
    table_key = draw.choice([_PERSON, _CITY, _LIVES])
    kind = draw.choice(["append", "upsert", "upsert", "delete", "overwrite"])
    chosen = draw.sample(_IDS, draw.randint(1, 3))
    return kind, table_key, [_row(draw, table_key, each) for each in chosen]


def _row(draw: random.Random, table_key: str, row_id: str) -> Row:
    if table_key == _PERSON:
        return {"id": row_id, "name": draw.choice([None, "x", "é"]), "age": draw.randint(0, 9)}
    if table_key == _CITY:
        return {"id": row_id}
    ends = {"src": draw.choice(_IDS), "dst": draw.choice(_IDS)}
    return {"id": row_id, **ends, "since": draw.choice([None, 1])}


def _apply(table: dict[str, Row], kind: str, rows: list[Row]) -> None:
    if kind == "delete":
        for row in rows:
            table.pop(row["id"], None)
        return
    if kind == "append" and any(row["id"] in table for row in rows):
        raise _Refused
    if kind == "overwrite":
        table.clear()
    table.update({row["id"]: row for row in rows})


def _check_edges(tables: Tables) -> None:
    for edge in tables[_LIVES].values():
        if edge["src"] not in tables[_PERSON] or edge["dst"] not in tables[_CITY]:
            raise _Refused


def _do(tx: Transaction, kind: str, table_key: str, rows: list[Row]) -> None:
    if kind == "delete":
        tx.delete(table_key, ids=[row["id"] for row in rows])
    else:
        getattr(tx, kind)(table_key, rows)


def _compare(repository: Repository, tables: Tables, commit_id: str | None = None) -> None:
    snapshot = repository.snapshot(commit=commit_id)
    for table_key, rows in tables.items():
        found = {row["id"]: row for row in snapshot.read(table_key).to_pylist()}
        assert found == rows
        assert snapshot.tables[table_key].row_count == len(rows)
