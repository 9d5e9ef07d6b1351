"""Any two versions of a table, on any branches, beside a plain model of what they hold."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from lineages import (
    Lineages,
    RepositoryRoot,
    Rows,
    changed_ids,
    compared_counts,
    difference,
    new_root,
    rows_at,
    told,
)
from sizes import sampled, sized

_IDS = [f"r{number}" for number in range(8)]
_PAIRS = 30
"""So many pairs of versions of a history are compared by default, others at each commit."""
_STEPS = (
    "append",
    "upsert",
    "upsert",
    "delete",
    "overwrite",
    "compact",
    "restore",
    "go_back",
    "drop_column",
    "add_column",
    "take_up",
    "fork",
    "fork",
)


def _rows(draw: st.DrawFn, columns: list[str]) -> Rows:
    ids = draw(st.lists(st.sampled_from(_IDS), unique=True, min_size=1, max_size=5))
    return {
        row_id: {
            name: draw(st.sampled_from(["x", "y", None] if name == "b" else [1, 2, None]))
            for name in columns
            if name != "id"
        }
        for row_id in ids
    }


def _step(draw: st.DrawFn, lineages: Lineages) -> None:
    branch = draw(st.sampled_from(lineages.branches))
    columns = lineages.columns(branch)
    name = draw(st.sampled_from(_STEPS))
    if name == "fork" and len(lineages.branches) < 4:
        branch = lineages.fork(branch)
        name = "upsert"
    if name in {"append", "upsert", "overwrite"}:
        getattr(lineages, name)(branch, _rows(draw, columns))
    elif name == "delete":
        lineages.delete(branch, set(_rows(draw, ["id"])))
    elif name == "go_back":
        older = [pin for pin in lineages.pins if pin.entry.table_branch == branch]
        if older:
            lineages.go_back(branch, draw(st.sampled_from(older)))
    elif name == "drop_column" and len(columns) > 1:
        lineages.drop_column(branch, draw(st.sampled_from(columns[1:])))
    elif name == "add_column":
        for absent in sorted({"a", "c"}.difference(columns))[:1]:
            lineages.add_column(branch, absent)
    elif name in {"compact", "restore", "take_up"}:
        change: Callable[[str | None], None] = getattr(lineages, name)
        change(branch)
    event(name)
    lineages.pin(branch)


@st.composite
def grown(draw: st.DrawFn, root: RepositoryRoot) -> Lineages:
    """Grow a table."""
    lineages = Lineages(root)
    lineages.upsert(None, _rows(draw, lineages.columns(None)))
    lineages.pin(None)
    for _ in range(draw(st.integers(2, 10))):
        _step(draw, lineages)
    return lineages


@settings(max_examples=sized(14, 40), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_two_versions(data: st.DataObject) -> None:
    """What is told is what differs, in both directions, and candidates leave none of it out."""
    with tempfile.TemporaryDirectory() as location:
        root = new_root(Path(location) / "root")
        lineages = data.draw(grown(root))
        for before, after in sampled(product(lineages.pins, lineages.pins), _PAIRS):
            expected = difference(before.rows, after.rows)
            assert told(root, before.entry, after.entry) == expected
            with changed_ids(root, before.entry, after.entry) as ids:
                assert expected.keys() <= {
                    each for some in ids.batches(3) for each in some.to_pylist()
                }
            counts = compared_counts(root, before.entry, after.entry)
            kinds = [kind for kind, _, _ in expected.values()]
            assert (counts.inserted, counts.updated, counts.deleted) == tuple(
                map(kinds.count, ("insert", "update", "delete"))
            )


@pytest.mark.parametrize("known", [True, False])
def test_a_pin_beside_none(root: RepositoryRoot, *, known: bool) -> None:
    """All rows came, or all rows went."""
    lineages = Lineages(root)
    lineages.append(None, {"a": {"a": 1, "b": "x"}, "b": {"a": None, "b": None}})
    pin = lineages.pin(None)
    sides = (None, pin) if known else (pin, None)
    expected = difference(*({} if side is None else side.rows for side in sides))
    entries = [None if side is None else side.entry for side in sides]
    assert told(root, *entries) == expected
    counts = compared_counts(root, *entries)
    assert counts.total == 2
    with changed_ids(root, *entries) as ids:
        assert sorted(*[some.to_pylist() for some in ids.batches(9)]) == ["a", "b"]


def test_rows_at(root: RepositoryRoot) -> None:
    """Rows come sorted by id; ids that are not there are left out."""
    lineages = Lineages(root)
    lineages.append(None, {each: {"a": number, "b": None} for number, each in enumerate("dbca")})
    pin = lineages.pin(None)
    ids = pa.array(["d", "a", "x", "c"])
    assert rows_at(root, pin.entry, ids).to_pylist() == [
        {"id": "a", "a": 3, "b": None},
        {"id": "c", "a": 2, "b": None},
        {"id": "d", "a": 0, "b": None},
    ]
    assert rows_at(root, pin.entry, ids, ["a"]).to_pylist() == [{"a": 3}, {"a": 2}, {"a": 0}]
    assert not rows_at(root, None, ids).num_rows
    assert rows_at(root, pin.entry, pa.array([], pa.string())).schema.names == ["id", "a", "b"]
