"""Which operation is refused over which other one, and how: all pairs, in a forced order.

Two handles are opened at version 2; the first commits, then the second, each without retries.
Rows a and b share fragment 0, c is in fragment 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from lance import LanceDataset

from ._support import (
    Failure,
    append,
    commit_append,
    create,
    delete,
    outcome,
    overwrite,
    restore,
    upsert,
)

Step = Callable[[LanceDataset], object]

OPERATIONS: dict[str, Step] = {
    "append": lambda ds: commit_append(ds, "z"),
    "delete a": lambda ds: delete(ds, "a"),
    "delete b": lambda ds: delete(ds, "b"),
    "update a": lambda ds: ds.update({"x": "5"}, where="id='a'", conflict_retries=0),
    "upsert a": lambda ds: upsert(ds, "a"),
    "upsert b": lambda ds: upsert(ds, "b"),
    "upsert new": lambda ds: upsert(ds, "n"),
    "overwrite": lambda ds: overwrite(ds, "o"),
    "restore": lambda ds: restore(ds, 1),
    "compact": lambda ds: ds.optimize.compact_files(),
    "index": lambda ds: ds.create_scalar_index("id", "BTREE"),
    "drop column": lambda ds: ds.drop_columns(["x"]),
    "add column": lambda ds: ds.add_columns({"y": "x + 1"}),
    "config": lambda ds: ds.update_config({"k": "1"}),
    "schema metadata": lambda ds: ds.update_schema_metadata({"k": "1"}),
}

VERDICTS = {
    ".": None,
    "w": ("OSError", "Too many concurrent writers. Attempted 0 retries.", None),
    "r": ("OSError", "Retryable commit conflict for version", None),
    "R": ("CommitConflictError", "Retryable commit conflict for version", True),
    "i": ("OSError", "Incompatible transaction: ", None),
    "I": ("CommitConflictError", "Incompatible transaction: ", False),
    "L": ("CommitConflictError", "Commit conflict for version", True),
}

#                    a  da db ua Ua Ub Un ov re co ix dc ac cf sm   the second, in the order above
MATRIX = {
    "append":          ".  .  .  .  .  .  .  L  .  .  .  .  R  .  .",
    "delete a":        ".  w  .  w  w  .  .  L  .  r  .  .  R  .  .",
    "delete b":        ".  .  w  .  .  w  .  L  .  r  .  .  R  .  .",
    "update a":        ".  w  .  w  w  .  .  L  .  r  .  .  R  .  .",
    "upsert a":        ".  w  .  w  w  .  .  L  .  r  .  .  R  .  .",
    "upsert b":        ".  .  w  .  .  w  .  L  .  r  .  .  R  .  .",
    "upsert new":      ".  .  .  .  .  .  .  L  .  .  .  .  R  .  .",
    "overwrite":       "I  i  i  i  i  i  i  L  .  i  I  i  I  .  i",
    "restore":         "I  i  i  i  i  i  i  L  .  i  I  i  I  .  i",
    "compact":         ".  w  w  w  w  w  .  L  .  r  R  .  R  .  .",
    "index":           ".  .  .  .  .  .  .  L  .  r  R  .  .  .  .",
    "drop column":     ".  .  .  .  .  .  .  L  .  .  .  r  I  .  .",
    "add column":      ".  w  w  w  w  w  w  L  .  r  .  r  R  .  r",
    "config":          ".  .  .  .  .  .  .  L  .  .  .  .  .  i  .",
    "schema metadata": ".  .  .  .  .  .  .  L  I  .  .  .  R  .  i",
}  # fmt: skip


def _letter(failed: Failure | None) -> str:
    for letter, expected in VERDICTS.items():
        if expected is None:
            if failed is None:
                return letter
        elif failed is not None:
            type_, start, retryable = expected
            same = failed.type == type_ and failed.retryable is retryable
            if same and failed.text.startswith(start):
                return letter
    return f"{failed}"


@pytest.mark.parametrize("first", OPERATIONS)
def test_each_pair_of_operations_has_one_verdict(first: str, tmp_path: Path) -> None:
    """Two operations from one version: the second lands, rebased, or is refused, and the text
    and type by which it is refused tell why ("Incompatible transaction:", "Retryable commit
    conflict", "Too many concurrent writers", "Commit conflict for version").
    """
    found = {}
    for number, second in enumerate(OPERATIONS):
        base = append(create(tmp_path / str(number), "a", "b"), "c")
        one, other = lance.dataset(base.uri), lance.dataset(base.uri)
        OPERATIONS[first](one)
        found[second] = _letter(outcome(lambda: OPERATIONS[second](other)))  # noqa: B023
    assert found == dict(zip(OPERATIONS, MATRIX[first].split(), strict=True))
