"""Documents of branches, tags, operations and leases that somebody edited: no bare error."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from damagework import append
from sizes import commit_seed, sized

from omnigraph_l2 import Repository
from omnigraph_l2.errors import OmniGraphError

_VALUES = (
    None,
    "NaN",
    "1e999",
    "-1",
    "1" + "0" * 30,
    "1" + "0" * 5_000,
    "[]",
    '"nan"',
    '"\\ud800"',
    '"0001-01-01T00:00:00+00:00"',
    '"0001-01-01T00:00:00+10:00"',
    '"9999-12-31T23:59:59.999999-10:00"',
)
"""What stands where a value was; None takes the key away."""
_EVERY = sized(37, 1)
_OPERATIONS: tuple[Callable[[Repository], object], ...] = (
    lambda repo: repo.snapshot(),
    lambda repo: repo.snapshot("side"),
    lambda repo: repo.snapshot(tag="v1"),
    lambda repo: repo.branches.list(),
    lambda repo: repo.tags.list(),
    lambda repo: append(repo, "new"),
    lambda repo: append(repo, "new", branch="side"),
    lambda repo: repo.branches.create("other", repo.log()[1].graph_commit_id, timeout=1),
    lambda repo: repo.runs.begin(operation_hash="op"),
    lambda repo: repo.verify(),
    lambda repo: repo.repair(),
    lambda repo: repo.cleanup(),
    lambda repo: repo.tags.delete("v1"),
)


def _edited(document: Path) -> list[bytes]:
    """Give the document with each of its values replaced."""
    whole = json.loads(document.read_text())
    edited = []
    for key in whole:
        rest = {name: value for name, value in whole.items() if name != key}
        for value in _VALUES:
            text = json.dumps(rest | ({} if value is None else {key: "@"}))
            edited.append(text.replace('"@"', value or "").encode())
    return edited


def _raises(repo: Repository, operation: Callable[[Repository], object]) -> bool:
    try:
        operation(repo)
    except OmniGraphError:
        return True
    return False


@pytest.mark.parametrize("folder", ["branches", "tags", "operations", "leases"])
def test_an_edited_document(repo: Repository, folder: str) -> None:
    """Whatever stands in it, each operation works or raises a typed error; none ends bare."""
    repo.snapshot()
    with repo.transaction() as tx:
        tx.append("node:Company", [{"id": "leased"}])
    raised = 0
    for document in sorted(Path(repo.uri, "_refs", folder).glob("*.json")):
        data = document.read_bytes()
        for text in _edited(document)[commit_seed() % _EVERY :: _EVERY]:
            document.write_bytes(text)
            with suppress(OmniGraphError), Repository.open(repo.uri, durability="none") as other:
                raised += sum(_raises(other, operation) for operation in _OPERATIONS)
        document.write_bytes(data)
    assert raised, "no edit was noticed: the proof is empty"
