"""Looking for keys and deleting by them: each means one value, and is found once."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance import LanceDataset
from people import ids, rows

from omnigraph_l1 import Table
from omnigraph_l1.errors import InvalidData


@pytest.fixture
def three(local: Table) -> Table:
    """Three rows of age 1."""
    return local.append(rows("a", "b", "c")).table


_WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """An empty table whose columns have names that need quoting."""
    schema = pa.schema([("Select a b", pa.string()), ('"', pa.int64()), ("it's", pa.bool_())])
    return Table.create(tmp_path_factory.mktemp("strange") / "t", schema, durability="none")


@given(st.lists(_WORDS, min_size=1, max_size=4, unique=True), st.integers(0, 2**63 - 1))
def test_keys_mean_themselves(strange: Table, words: list[str], number: int) -> None:
    """Whatever a key holds, and however its column is named: exactly its row is found."""
    numbers = [number, -1, 1, 0, 3][: len(words) + 1]
    columns = [[*words, "other"], numbers, [number % 2 == 1] * len(numbers)]
    types = strange.schema.types
    arrays = [pa.array(*each) for each in zip(columns, types, strict=True)]
    table = strange.refresh().overwrite(pa.Table.from_arrays(arrays, schema=strange.schema)).table
    names = table.schema.names
    for word in words:
        found = table.find(names[0], [word], columns=[names[0]])[0].to_pylist()
        assert set(found) == {word}
        assert len(found) == 1 + (word == "other")
    assert table.find(names[0], words).num_rows >= len(words)
    for value in numbers:
        found = table.find(names[1], [value], columns=[names[1]])[0].to_pylist()
        assert found == [value] * numbers.count(value)
    assert table.find(names[2], [number % 2 == 1]).num_rows == len(numbers)
    assert table.find(names[2], [number % 2 == 0]).num_rows == 0


def test_many_keys_are_found_in_filters_of_a_size_that_is_parsed(
    local: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row once, whatever is the number of keys; a longer filter takes Lance ever longer."""
    names = [f"k{number:05}" for number in range(4001)]
    local = local.append(rows(*names)).table
    asked: list[int] = []
    scanner = LanceDataset.scanner

    def counted(dataset: LanceDataset, *given: Any, **named: Any) -> object:
        asked.append(named["filter"].count("'k"))
        return scanner(dataset, *given, **named)

    monkeypatch.setattr(LanceDataset, "scanner", counted)
    assert ids(local.find("id", names)) == names
    assert asked == [2000, 2000, 1]


def test_a_key_that_is_named_twice_is_found_once(three: Table) -> None:
    """However many others stand between, so that the two are asked for apart."""
    many = ["a", *(f"x{number}" for number in range(2000)), "a"]
    assert ids(three.find("id", many)) == ["a"]
    assert three.stage_delete_keys("id", many).rows_deleted == 1


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("id", "ab"),
        ("id", b"ab"),
        ("id", {"a": 1}),
        ("id", None),
        ("id", 5),
        ("id", [5]),
        ("id", [["a"]]),
        ("age", [1.5]),
        ("age", ["1"]),
        ("age", [True]),
        ("age", [b"1"]),
        ("age", [2**31]),
        ("age", [-(2**70)]),
    ],
    ids=repr,
)
def test_what_is_no_list_of_keys_of_the_column(three: Table, key: str, values: Any) -> None:
    """It is refused by the column's name, and neither rounded nor taken for its letters."""
    for attempt in (three.find, three.stage_delete_keys):
        with pytest.raises(InvalidData) as caught:
            attempt(key, values)
        assert [problem.column for problem in caught.value.problems] == [key]


def test_dates_are_not_cut(tmp_path: Path) -> None:
    """A moment within a day is not that day."""
    schema = pa.schema([pa.field("day", pa.date32(), nullable=False)])
    day = dt.date(2026, 11, 18)
    table = Table.create(tmp_path / "t", schema)
    table = table.append(pa.table({"day": [day]}, schema=schema)).table
    assert table.find("day", [day]).num_rows == 1
    with pytest.raises(InvalidData):
        table.find("day", [dt.datetime(2026, 11, 18, 5)])  # noqa: DTZ001


def test_keys_in_any_form(three: Table) -> None:
    """A set, an iterator, an Arrow array, numbers without a sign, nulls."""
    for values in ({"a", "b"}, iter(["a", "b"]), pa.array(["a", "b"])):
        assert ids(three.find("id", values)) == ["a", "b"]
    assert three.find("age", [-1, 1]).num_rows == 3
    assert three.find("age", [None]).num_rows == 0
    assert three.find("age", [1.0]).num_rows == 3


def test_columns_of_what_is_found(three: Table) -> None:
    """None of them, and those that every row has, with and without literals for the keys."""
    for value in (1, -1):
        found = three.find("age", [1, value], columns=["_rowid"])
        assert found.column_names == ["_rowid"]
        assert found.num_rows == 3
    assert three.find("id", ["a"], columns=[]).num_rows == 1
