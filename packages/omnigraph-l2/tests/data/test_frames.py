"""Data frames come in without being turned into anything else by their owner."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from row_input import DataProblems, incoming

from omnigraph_l2 import _rows

NODE = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("name", pa.string()),
        ("age", pa.int32()),
        ("at", pa.timestamp("us")),
        ("day", pa.date32()),
        ("kind", pa.string()),
        ("tags", pa.list_(pa.string())),
    ]
)


@pytest.fixture
def pd() -> Any:
    """Give pandas, where it is."""
    return pytest.importorskip("pandas", reason="pandas is a test requirement of nox only")


@pytest.fixture
def pl() -> Any:
    """Give polars, where it is."""
    return pytest.importorskip("polars", reason="polars is a test requirement of nox only")


def rows_of(data: Any, schema: pa.Schema = NODE, **options: Any) -> list[dict[str, Any]]:
    """Take data in, and give its rows."""
    table = incoming(data, schema, what="node:P", **options).reader().read_all()
    return list(table.select([n for n in table.column_names if n in _names(data)]).to_pylist())


def _names(data: Any) -> list[str]:
    return [*data.columns, *(getattr(getattr(data, "index", None), "names", None) or [])]


def problems_of(data: Any) -> list[str]:
    """Take data in, and give what is wrong."""
    with pytest.raises(DataProblems) as caught:
        incoming(data, NODE, what="node:P").reader().read_all()
    return [str(problem) for problem in caught.value.problems]


def test_a_frame_of_pandas_comes_in(pd: Any) -> None:
    """What pandas takes for missing is null; categories, objects and whole floats fit."""
    frame = pd.DataFrame(
        {
            "id": pd.Series(["a", "b"], dtype=object),
            "name": ["x", None],
            "age": [1.0, float("nan")],
            "at": pd.to_datetime(["2020-01-01 05:00", None]),
            "day": pd.to_datetime(["2020-01-01", None]),
            "kind": pd.Categorical(["k", None]),
            "tags": [["t"], None],
        }
    )
    first, second = rows_of(frame)
    assert [str(value) for value in first.values()] == [
        "a", "x", "1", "2020-01-01 05:00:00", "2020-01-01", "k", "['t']",
    ]  # fmt: skip
    assert list(second.values()) == ["b", None, None, None, None, None, None]


def test_pandas_own_types_come_in(pd: Any) -> None:
    """Nullable integers, strings of Arrow, and NA among objects are read for what they are."""
    frame = pd.DataFrame(
        {
            "id": pd.array(["a", "b"], dtype="string"),
            "age": pd.array([1, None], dtype="Int64"),
            "name": pd.Series(["x", pd.NA], dtype=object),
            "kind": pd.Series(["k", None], dtype=pd.ArrowDtype(pa.string())),
        }
    )
    assert rows_of(frame) == [
        {"id": "a", "name": "x", "age": 1, "kind": "k"},
        {"id": "b", "name": None, "age": None, "kind": None},
    ]


def test_problems_of_a_frame_are_told_with_rows(pd: Any) -> None:
    """Types are judged first, then each value, counted as the frame does from its top."""
    frame = pd.DataFrame({"id": ["a"], "age": ["x"], "name": pd.period_range("2020", periods=1)})
    assert "age: should be int32, found large_string" in problems_of(frame)
    assert any(problem.startswith("name: should be string") for problem in problems_of(frame))
    frame = pd.DataFrame({"id": ["a", None, "c"], "age": [1.5, 2, 3]}, index=[7, 8, 9])
    assert problems_of(frame) == [
        "id: is null, but may not be (row 1)",
        "age: 1.5 does not fit int32 (row 0)",
    ]
    frame = pd.DataFrame({"id": pd.Series(["a", 3, "c"], dtype=object)})
    assert problems_of(frame) == ["id: should be string, found int 3 (row 1)"]
    frame = pd.DataFrame([["a", "b"]], columns=["id", "id"])
    assert problems_of(frame) == ["id: stands more than once in the data"]


def test_a_named_index_is_a_column_and_another_is_not(pd: Any) -> None:
    """A frame that was filtered fits, and one that is indexed by id does too."""
    frame = pd.DataFrame({"id": ["a", "b", "c"], "age": [1, 2, 3]})
    assert rows_of(frame[frame["age"] > 1]) == [{"id": "b", "age": 2}, {"id": "c", "age": 3}]
    assert rows_of(frame.set_index("id")) == rows_of(frame)


def test_nanoseconds_of_pandas_are_not_dropped(pd: Any) -> None:
    """A Timestamp in a list of rows has nanoseconds, which Python's own type would lose."""
    schema = pa.schema([("t", pa.timestamp("us")), ("d", pa.duration("us"))])
    fine = {"t": pd.Timestamp("2020-01-01 00:00:00.000001"), "d": pd.Timedelta(1000)}
    (row,) = incoming([fine], schema, what="t", ids=()).reader().read_all().to_pylist()
    assert (row["t"].microsecond, row["d"].microseconds) == (1, 1)
    lost = {"t": pd.Timestamp("2020-01-01 00:00:00.000000001"), "d": pd.Timedelta(1)}
    with pytest.raises(DataProblems) as caught:
        list(incoming([lost, {"t": pd.NaT}], schema, what="t", ids=()))
    assert [(problem.column, problem.row) for problem in caught.value.problems] == [
        ("t", 0),
        ("t", 1),
        ("d", 0),
    ]
    zoned = pa.schema([("t", pa.timestamp("us", "Europe/Paris"))])
    moment = pd.Timestamp("2020-01-01 05:00", tz="Asia/Tokyo")
    (row,) = incoming([{"t": moment}], zoned, what="t", ids=()).reader().read_all().to_pylist()
    assert row["t"] == moment


def test_a_large_frame_is_taken_in_parts(pd: Any) -> None:
    """Batches stay small, and rows are counted over all parts."""
    frame = pd.DataFrame({"id": [f"n{n}" for n in range(50_000)], "age": range(50_000)})
    batches = list(incoming(frame, NODE, what="node:P", max_batch_bytes=100_000))
    assert len(batches) > 10
    assert max(batch.nbytes for batch in batches) <= 100_000
    assert pa.Table.from_batches(batches).column("age").to_pylist() == list(range(50_000))
    frame["age"] = frame["age"].where(frame["age"] != 40_000, 2**31)
    assert problems_of(frame) == ["age: 2147483648 does not fit int32 (row 40000)"]


def test_a_frame_of_polars_comes_in(pl: Any) -> None:
    """Its views, categories and large lists become plain columns."""
    frame = pl.DataFrame(
        {"id": ["a", "b"], "age": [1, None], "kind": ["k", None], "tags": [["t"], []]},
        schema_overrides={"kind": pl.Categorical},
    )
    assert rows_of(frame) == [
        {"id": "a", "age": 1, "kind": "k", "tags": ["t"]},
        {"id": "b", "age": None, "kind": None, "tags": []},
    ]
    assert rows_of(frame.select("id"), may_lack_nullable=True) == [{"id": "a"}, {"id": "b"}]
    assert problems_of(pl.DataFrame({"id": ["a", ""], "age": [1, 2**40]})) == [
        "id: is an empty id (row 1)",
        "age: 1099511627776 does not fit int32 (row 1)",
    ]


def test_a_lazy_frame_is_to_be_collected_first(pl: Any) -> None:
    """The message says how."""
    (problem,) = problems_of(pl.DataFrame({"id": ["a"]}).lazy())
    assert "collect()" in problem


def test_no_library_of_frames_is_imported_by_us() -> None:
    """Who does not use pandas or polars needs neither."""
    folder = Path(_rows.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert "pandas" not in ast.unparse(node), path
                assert "polars" not in ast.unparse(node), path
