"""Data of every kind comes in as what the table takes, or with all that is wrong with it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from row_input import DataProblem, DataProblems, Findings, incoming

NODE = pa.schema(
    [pa.field("id", pa.string(), nullable=False), ("name", pa.string()), ("age", pa.int32())]
)
EDGE = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("id", "src", "dst")])
GOOD = pa.table({"age": [1, None], "id": ["a", "b"], "name": ["x", None]})
ROWS = [{"id": "a", "name": "x", "age": 1}, {"id": "b", "name": None, "age": None}]


class Stream:
    """Somebody's data frame: all that it can is Arrow's own protocol."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class OneBatch:
    """Data that knows only the protocol for one array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return GOOD.to_batches()[0].__arrow_c_array__(requested_schema)


def problems_of(data: Any, schema: pa.Schema = NODE, **options: Any) -> list[str]:
    """Read it all, and give what is wrong."""
    with pytest.raises(DataProblems) as caught:
        incoming(data, schema, what="node:Person", **options).reader().read_all()
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        GOOD.to_batches()[0],
        GOOD.to_reader(),
        Stream(GOOD),
        OneBatch(),
        ROWS,
        tuple(ROWS),
        iter(ROWS),
        (row for row in ROWS),
    ],
    ids=lambda data: type(data).__name__,
)
def test_every_kind_of_data_comes_out_alike(data: Any) -> None:
    """Columns stand in the table's order and types, and rows are counted."""
    stream = incoming(data, NODE, what="node:Person")
    assert stream.schema == NODE
    batches = list(stream)
    assert all(batch.schema == NODE for batch in batches)
    assert pa.Table.from_batches(batches).to_pylist() == ROWS
    assert stream.rows == 2


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (3, "found int 3"),
        ("rows", "found str 'rows'"),
        (None, "found NoneType"),
        ({"id": ["a"]}, "put it in a list"),
        (pa.chunked_array([[1]]), "found ChunkedArray"),
    ],
)
def test_what_is_no_data_is_told_so(data: Any, hint: str) -> None:
    """The message says what can be given, and what was."""
    (problem,) = problems_of(data)
    assert "should be a Table" in problem
    assert hint in problem


def test_all_problems_of_columns_are_told_before_a_row_is_read() -> None:
    """A stream is not touched when its schema shows that it cannot fit."""

    def rows() -> Iterator[pa.RecordBatch]:
        pytest.fail("the stream was read")
        yield

    schema = pa.schema([("age", pa.string()), ("name", pa.string()), ("name", pa.string())])
    schema = schema.append(pa.field("extra", pa.int8()))
    with pytest.raises(DataProblems) as caught:
        incoming(pa.RecordBatchReader.from_batches(schema, rows()), NODE, what="node:Person")
    assert caught.value.problems == (
        DataProblem("extra", "is no column of node:Person, which has 'id', 'name', 'age'"),
        DataProblem("id", "is missing, and may not be null"),
        DataProblem("name", "stands more than once in the data"),
        DataProblem("age", "should be int32, found string"),
    )


def test_all_problems_of_rows_in_memory_are_told_at_once() -> None:
    """Rows are counted through all of the data, over chunks and columns."""
    chunks = [pa.table({"id": ["a", None], "age": [1, 2**31]})]
    chunks.append(pa.table({"id": ["", "d"], "age": [2**40, 4]}))
    assert problems_of(pa.concat_tables(chunks)) == [
        "id: is null, but may not be (row 1)",
        "id: is an empty id (row 2)",
        "age: 2147483648 does not fit int32 (row 1)",
        "age: 1099511627776 does not fit int32 (row 2)",
    ]


def test_a_stream_tells_the_problems_of_a_batch_together_and_reads_no_further() -> None:
    """Good batches come out first, then all that is wrong with the bad one."""
    read = []

    def batches() -> Iterator[pa.RecordBatch]:
        for ages in ([1, 2], [2**31, 2**32], [2**33, 0]):
            read.append(ages)
            yield pa.record_batch({"id": ["a", "b"], "age": ages})

    schema = pa.schema([("id", pa.string()), ("age", pa.int64())])
    stream = iter(
        incoming(pa.RecordBatchReader.from_batches(schema, batches()), NODE, what="node:Person")
    )
    assert len(next(stream)) == 2
    with pytest.raises(DataProblems) as caught:
        next(stream)
    assert [problem.row for problem in caught.value.problems] == [2, 3]
    assert len(read) == 2


def test_a_cut_batch_of_a_stream_tells_its_problems_together() -> None:
    """That a large batch is worked on in pieces does not split its problems."""
    batch = pa.record_batch({"id": [f"n{n}" for n in range(100)], "age": [2**31] * 100})
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    with pytest.raises(DataProblems) as caught:
        list(incoming(reader, NODE, what="node:Person", max_batch_bytes=200))
    assert len(caught.value.problems) + caught.value.more == 100


def test_many_problems_are_counted_and_twenty_are_shown() -> None:
    """No column drowns the others, and the message says how many are not in it."""
    table = pa.table({"id": [""] * 5000, "age": [2**40] * 4999 + [1], "name": ["x"] * 5000})
    with pytest.raises(DataProblems) as caught:
        list(incoming(table, NODE, what="node:Person"))
    error = caught.value
    assert len(error.problems) == 20
    assert error.more == 9999 - 20
    columns = [problem.column for problem in error.problems]
    assert columns == ["id"] * 10 + ["age"] * 10
    assert "and 9979 more" in str(error)
    assert str(error).startswith("Invalid data for node:Person: ")


def test_a_value_is_shown_short() -> None:
    """A message never carries a whole document."""
    (problem,) = problems_of([{"id": "a", "age": "x" * 10_000}])
    assert len(problem) < 120


def test_the_error_survives_the_way_to_another_process() -> None:
    """Problems are the same after pickling."""
    error = DataProblems((DataProblem("a", "b", row=3),), what="node:Person", more=2)
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == str(error)
    assert back.problems == error.problems


def test_what_the_users_reader_raises_comes_out_as_it_was() -> None:
    """It is the very exception, whether rows are iterated or read by a reader of ours."""
    mine = ZeroDivisionError("mine")

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": ["a"]})
        raise mine

    def rows() -> Iterator[dict[str, Any]]:
        yield {"id": "a"}
        raise mine

    schema = pa.schema([("id", pa.string())])
    for make in (lambda: pa.RecordBatchReader.from_batches(schema, batches()), rows):
        with pytest.raises(ZeroDivisionError) as caught:
            list(incoming(make(), NODE, what="node:Person"))
        assert caught.value is mine
        with pytest.raises(ZeroDivisionError) as caught:
            incoming(make(), NODE, what="node:Person").reader().read_all()
        assert caught.value is mine


def test_missing_nullable_columns_are_null_or_stay_missing() -> None:
    """An append fills them, an upsert keeps what is there; what may not be null must come."""
    table = pa.table({"age": [1], "id": ["a"]})
    (filled,) = incoming(table, NODE, what="node:Person")
    assert filled.to_pylist() == [{"id": "a", "name": None, "age": 1}]
    stream = incoming(table, NODE, what="node:Person", may_lack_nullable=True)
    assert stream.schema == pa.schema([NODE.field("id"), NODE.field("age")])
    assert pa.Table.from_batches(list(stream)).to_pylist() == [{"id": "a", "age": 1}]
    assert problems_of(pa.table({"age": [1]}), may_lack_nullable=True) == [
        "id: is missing, and may not be null"
    ]


@pytest.mark.parametrize("column", ["id", "src", "dst"])
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("", "is an empty id"),
        ("a\0b", "the id 'a\\x00b' holds a NUL"),
        (None, "is null, but may not be"),
        ("a\ud800", "'a\\ud800' holds half a character (a surrogate)"),
    ],
)
def test_ids_and_ends_of_edges_are_strings_that_can_be_told_apart(
    column: str, bad: str | None, problem: str
) -> None:
    """Empty ids, ids with NUL and ids that are no text are refused with their row."""
    good = {"id": "k", "src": "a", "dst": "b"}
    found = problems_of([good, good | {column: bad}], EDGE)
    assert f"{column}: {problem} (row 1)" in found
    if bad is not None and "\ud800" not in bad:
        table = pa.table({name: ["x", bad if name == column else "y"] for name in good})
        assert problems_of(table, EDGE) == [f"{column}: {problem} (row 1)"]


def test_a_property_named_src_of_a_node_is_no_id() -> None:
    """Only where src and dst stand as an edge's do are they ids."""
    schema = NODE.append(pa.field("src", pa.string()))
    (batch,) = incoming([{"id": "a", "src": ""}], schema, what="node:Person")
    assert batch.column("src").to_pylist() == [""]


@pytest.mark.parametrize("data", [[], iter([]), GOOD.slice(0, 0), GOOD.slice(0, 0).to_reader()])
def test_no_rows_are_no_batches(data: Any) -> None:
    """Data without rows fits, and gives nothing."""
    stream = incoming(data, NODE, what="node:Person")
    assert list(stream) == []
    assert stream.rows == 0


def test_batches_are_cut_to_the_bound() -> None:
    """What comes out is small, whatever came in, and in order; a row that is too large is alone."""
    ids = [f"{n:04}" for n in range(1000)]
    table = pa.table({"id": ids, "name": ["x" * (5000 if n == 500 else 10) for n in range(1000)]})
    batches = list(incoming(table, NODE, what="node:Person", max_batch_bytes=2000))
    assert pa.Table.from_batches(batches).column("id").to_pylist() == ids
    assert all(len(batch) == 1 or batch.nbytes <= 2000 for batch in batches)
    assert len(batches) < 100


def test_what_is_remembered_of_problems_is_bounded() -> None:
    """A million bad rows cost no more to remember than twenty."""
    findings = Findings("t")
    for row in range(1000):
        findings.add("a", "is bad", row)
    assert findings.count == 1000
    assert sum(map(len, findings._kept.values())) == 20
