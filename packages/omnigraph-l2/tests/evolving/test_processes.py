"""Real processes write while the schema changes again and again."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from appender import append_many
from graphs import like

from campaign.forked_processes import process_context
from omnigraph_l2 import GraphSchema, NodeType, Repository

pytestmark = pytest.mark.integration

WRITERS, APPENDS, EVOLVES = 2, 30, 20
DEADLINE = 60
MEETINGS = 5


def people(*names: str) -> GraphSchema:
    """Give a schema with one type and these properties, all text."""
    return GraphSchema(nodes=[NodeType("Person", dict.fromkeys(names, pa.string()))])


def test_appends_and_evolves_from_several_processes(tmp_path: Path) -> None:
    """Each append is there once, each value in its own column, and every evolve came through.

    A row has a value in each column that was there when it was written and was never dropped since,
    and null in those that came later.
    """
    uri = str(tmp_path / "r")
    repository = Repository.init(uri, people("name"), durability="none")
    context = process_context()
    go_on = context.Event()
    writers = [
        context.Process(target=append_many, args=(uri, number, APPENDS, go_on, DEADLINE))
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    wait_for_an_append(repository)
    for turn in range(EVOLVES):
        wanted = people("name") if turn % 2 else people("name", "a", f"b{turn}")
        assert repository.evolve(wanted, message=f"evolve {turn}") is not None
        assert like(repository.snapshot().schema) == like(wanted)
        if turn + 1 == MEETINGS:
            go_on.set()
    final = people("name", "z")
    repository.evolve(final)
    for writer in writers:
        writer.join(DEADLINE)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    head = repository.snapshot()
    assert like(head.schema) == like(final)
    rows = head.read("node:Person").to_pylist()
    ids = {f"{writer}-{turn}" for writer in range(WRITERS) for turn in range(APPENDS)}
    assert len(rows) == len(ids)
    assert {row["id"] for row in rows} == ids
    log = repository.log()
    assert len(log) == 1 + len(ids) + EVOLVES + 1
    appends = [number for number, commit in enumerate(log[:-1]) if commit.message is None]
    between = appends[-1] - appends[0] + 1 - len(ids)
    assert between >= MEETINGS, "the evolves and the appends did not meet"
    for row in rows:
        assert row["name"] == f"name {row['id']}"
        assert row["z"] in {None, f"z {row['id']}"}
    assert_each_commit_is_whole(repository)


def wait_for_an_append(repository: Repository) -> None:
    """Wait until the writers are at work."""
    until = time.monotonic() + DEADLINE
    while len(repository.log()) == 1:
        assert time.monotonic() < until, "no writer came to write"


def assert_each_commit_is_whole(repository: Repository) -> None:
    """In the history too, no value ever stood in a column that it was not written for."""
    for commit in repository.log():
        then = repository.snapshot(commit=commit.graph_commit_id)
        for row in then.read("node:Person").to_pylist():
            for name, value in row.items():
                assert name == "id" or value in {None, f"{name} {row['id']}"}, (commit, row)
