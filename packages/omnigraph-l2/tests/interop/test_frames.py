"""DuckDB, polars, pandas and pyarrow read a table of a snapshot, and not more of it than asked."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import duckdb
import lance
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Snapshot
from omnigraph_l2.errors import UnknownTable
from omnigraph_l2.interop import duckdb_views

_ROWS, _LOADS = 2_000, 3
_KEY = "node:Person"
_MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
_SCHEMA = GraphSchema(
    nodes=[
        NodeType(
            "Person",
            {
                "age": pa.int32(),
                "name": pa.string(),
                "seen": pa.timestamp("us", tz="UTC"),
                "Long text": pa.string(),
            },
        )
    ],
    edges=[EdgeType("Person", "Person", "Person")],
)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """People in several loads, the later ones older; most of the bytes are in one column."""
    location = tmp_path_factory.mktemp("people")
    with Repository.init(location / "repo", _SCHEMA, durability="none") as repository:
        for load in range(_LOADS):
            numbers = range(load * _ROWS, (load + 1) * _ROWS)
            people = {
                "id": [f"p{number}" for number in numbers],
                "age": pa.array(numbers, pa.int32()),
                "name": [f"name {number}" for number in numbers],
                "seen": pa.array([_MOMENT] * _ROWS, pa.timestamp("us", tz="UTC")),
                "Long text": [f"{number:0200}" for number in numbers],
            }
            with repository.transaction() as tx:
                tx.append(_KEY, pa.table(people))
        yield repository


@pytest.fixture
def snapshot(repo: Repository) -> Snapshot:
    """All of them."""
    return repo.snapshot()


def _cost(dataset: lance.LanceDataset, read: Callable[[lance.LanceDataset], Any]) -> int:
    """Count the bytes that reading asks the store for, once it is known where things lie."""
    read(dataset)
    dataset.io_stats_incremental()
    read(dataset)
    return int(dataset.io_stats_incremental().read_bytes)


def _sql(query: str) -> Callable[[lance.LanceDataset], Any]:
    def read(dataset: lance.LanceDataset) -> Any:
        with duckdb.connect() as connection:
            connection.register("people", dataset)
            return connection.sql(query).fetchall()

    return read


def _polars(plan: Callable[[pl.LazyFrame], pl.LazyFrame]) -> Callable[[lance.LanceDataset], Any]:
    return lambda dataset: plan(pl.scan_pyarrow_dataset(dataset)).collect()


_ONE_COLUMN: dict[str, Callable[[lance.LanceDataset], Any]] = {
    "duckdb": _sql("SELECT sum(age) FROM people"),
    "polars": _polars(lambda people: people.select(pl.col("age").sum())),
    "pyarrow": lambda dataset: dataset.scanner(columns=["age"]).to_reader().read_all(),
}
_FEW_ROWS: dict[str, Callable[[lance.LanceDataset], Any]] = {
    "duckdb": _sql('SELECT name, "Long text" FROM people WHERE age = 17'),
    "polars": _polars(lambda people: people.filter(age=17).select("name", "Long text")),
    "pyarrow": lambda dataset: dataset.to_table(["name", "Long text"], "age = 17"),
}


@pytest.mark.parametrize("tool", _ONE_COLUMN)
def test_only_the_columns_that_are_named_are_read(snapshot: Snapshot, tool: str) -> None:
    """To the byte as many as Lance itself reads for that column, a fraction of the whole."""
    exact = _cost(snapshot.dataset(_KEY), lambda dataset: dataset.to_table(["age"]))
    whole = _cost(snapshot.dataset(_KEY), lambda dataset: dataset.to_table())
    assert 0 < _cost(snapshot.dataset(_KEY), _ONE_COLUMN[tool]) == exact < whole / 10


@pytest.mark.parametrize("tool", _FEW_ROWS)
def test_only_the_rows_that_match_are_read(snapshot: Snapshot, tool: str) -> None:
    """The filter reaches Lance, which then takes the other columns of one row alone."""

    def plainly(dataset: lance.LanceDataset) -> Any:
        return dataset.to_table(["name", "Long text"], "age = 17")

    whole = _cost(snapshot.dataset(_KEY), lambda dataset: dataset.to_table(["name", "Long text"]))
    few = _cost(snapshot.dataset(_KEY), plainly)
    assert 0 < _cost(snapshot.dataset(_KEY), _FEW_ROWS[tool]) == few < whole / 5


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("seen = TIMESTAMPTZ '2026-01-02 03:04:05+00'", _LOADS * _ROWS),
        ("seen > TIMESTAMPTZ '2026-01-02 03:04:05+00'", 0),
        ("name IN ('name 7', 'name 9')", 2),
        ("name LIKE 'name 599%'", 11),
        ("age IS NULL OR age BETWEEN 5 AND 7", 3),
        ("\"Long text\" = repeat('0', 199) || '8'", 1),
    ],
)
def test_sql_filters_mean_what_they_say(snapshot: Snapshot, where: str, count: int) -> None:
    """Whether DuckDB hands them on or looks at each row by itself."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        name = duckdb_views(snapshot, connection)[_KEY]
        found = connection.sql(f"SELECT count(*) FROM {name} WHERE {where}").fetchall()
    assert found == [(count,)]


def test_every_table_is_a_view(snapshot: Snapshot) -> None:
    """Under a plain name, of which no two are alike to SQL; they join; an unknown one is told."""
    with duckdb.connect() as connection:
        names = duckdb_views(snapshot, connection)
        assert names == {"node:Person": "graph_node_Person", "edge:Person": "graph_edge_Person"}
        joined = connection.sql(
            "SELECT count(*) FROM graph_node_Person p LEFT JOIN graph_edge_Person e ON e.src = p.id"
        )
        assert joined.fetchall() == [(_LOADS * _ROWS,)]
        only = duckdb_views(snapshot, connection, tables=[_KEY], prefix="g")
        assert only == {_KEY: "g_Person"}
        with pytest.raises(UnknownTable):
            duckdb_views(snapshot, connection, tables=["node:Nobody"])


def test_views_show_one_moment_and_keep_it(repo: Repository) -> None:
    """Whatever is published and cleaned up meanwhile: they hold the lease of the snapshot."""
    snapshot = repo.snapshot()
    with duckdb.connect() as connection:
        duckdb_views(snapshot, connection, tables=[_KEY])
        number = id(snapshot)
        del snapshot
        gc.collect()
        alive = [each for each in gc.get_objects() if isinstance(each, Snapshot)]
        assert number in map(id, alive)
        with repo.transaction() as tx:
            tx.delete(_KEY, "age < 10")
        count = connection.sql("SELECT count(*) FROM graph_Person").fetchall()
    assert count == [(_LOADS * _ROWS,)]
    with repo.transaction() as tx:
        tx.append(_KEY, [{"id": f"p{number}", "age": number} for number in range(10)])


def test_a_dataset_that_is_moved_moves_nobody_else(repo: Repository) -> None:
    """``checkout_latest`` on Lance's own handle does not change what snapshots show."""
    before = repo.snapshot()
    with repo.transaction() as tx:
        tx.upsert(_KEY, [{"id": "p11", "name": "other"}])
    dataset = before.dataset(_KEY)
    dataset.checkout_latest()
    shown = before.read(_KEY, columns=["name"], filter="id = 'p11'").to_pylist()
    assert shown == [{"name": "name 11"}]
    with repo.transaction() as tx:
        tx.upsert(_KEY, [{"id": "p11", "name": "name 11"}])


def test_frames_take_the_columns_as_they_are(snapshot: Snapshot) -> None:
    """Polars and pandas with Arrow's types hold the very memory that was read: no copy."""
    table = snapshot.read(_KEY, columns=["age", "seen"]).combine_chunks()
    ages = table["age"].chunk(0).buffers()[1].address
    series = pl.from_arrow(table)["age"]  # type: ignore[index, call-overload]
    assert series.to_arrow().buffers()[1].address == ages
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert pa.array(frame["age"].array).buffers()[1].address == ages
    assert frame.dtypes.astype(str).to_dict() == {
        "age": "int32[pyarrow]", "seen": "timestamp[us, tz=UTC][pyarrow]",
    }  # fmt: skip
