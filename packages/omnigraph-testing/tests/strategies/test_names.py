"""Names: Lance itself says which are good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from omnigraph_testing.strategies import branch_names, invalid_branch_names, type_names
from omnigraph_testing.strategies._graph_names import _is_good

SOME = settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One dataset that gets all the branches."""
    uri = tmp_path_factory.mktemp("names") / "t.lance"
    rows = pa.table({"id": ["a"]})
    return lance.write_dataset(rows, str(uri), data_storage_version="2.2")


@SOME
@given(name=branch_names())
def test_lance_takes_good_branch_names(dataset: Any, name: str) -> None:
    """A good name becomes a branch that is listed and can be read."""
    if name in dataset.branches.list():
        return
    dataset.create_branch(name)
    assert name in dataset.branches.list()
    assert dataset.checkout_version((name, None)).count_rows() == 1


@SOME
@given(name=invalid_branch_names())
def test_lance_refuses_bad_branch_names(dataset: Any, name: str) -> None:
    """A bad name is refused, and makes no branch."""
    before = set(dataset.branches.list())
    with pytest.raises(OSError, match=r"Ref is invalid|Encountered illegal character"):
        dataset.create_branch(name)
    assert set(dataset.branches.list()) == before


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("maine", "main"),
        ("a.lockb", "a.lock"),
        ("a/.b", "a/."),
        ("a.b", "a..b"),
        ("人" * 12, "人" * 13),
    ],
)
def test_what_is_seldom_drawn_is_left_out_too(good: str, bad: str) -> None:
    """Names that Lance refuses, or cannot fit into a file name, are not good ones."""
    assert _is_good(good)
    assert not _is_good(bad)


@SOME
@given(name=type_names())
def test_type_names_are_columns(tmp_path: Path, name: str) -> None:
    """A name of a type can be the name of a property, and is found again as it was given."""
    rows = pa.table({"id": ["a"], name: [1]})
    found = lance.write_dataset(rows, str(tmp_path / "t"), mode="overwrite").to_table()
    assert found.column_names == ["id", name]
