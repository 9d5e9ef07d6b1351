"""Options are read, or every problem with them is told. Pure: no JVM."""

from __future__ import annotations

import pickle
from datetime import datetime, timezone

import attrs
import pytest

from omnigraph_l2.errors import DataProblem, InvalidData, UnknownTable
from omnigraph_spark import cause_of
from omnigraph_spark._convert.error_transport import TransportedError, transport_errors
from omnigraph_spark._options.read_options import parse_read_options
from omnigraph_spark.errors import InvalidOptions


def test_what_can_be_said() -> None:
    """Names in any case; the secrets of the store are in no text."""
    found = parse_read_options(
        {
            "path": "s3://b/graph",
            "Table": "node:Person",
            "as_of": "2026-01-31T12:00:00Z",
            "columns": '["a,b", "c"]',
            "storage.aws_secret_access_key": "hush",
            "pushdown": "TRUE",
        }
    )
    assert found.as_of == datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
    assert found.columns == ("a,b", "c")
    assert found.pushdown
    assert found.location.storage == {"aws_secret_access_key": "hush"}
    assert "hush" not in repr(found)
    plain = {"path": "p", "table": "t"}
    assert parse_read_options(plain | {"columns": "a, b"}).columns == ("a", "b")
    assert parse_read_options(plain | {"columns": ""}).columns == ()


def test_every_problem_is_told_at_once() -> None:
    """With what is allowed and what was found; a secret is not found."""
    with pytest.raises(InvalidOptions) as told:
        parse_read_options(
            {
                "tabel": "node:Person",
                "version": "seven",
                "as_of": "2026-01-31",
                "partition_rows": "0",
                "pushdown": "perhaps",
                "columns": "[1]",
                "branch": " ",
                "storage.aws_secret_access_key": "hush",
            }
        )
    text = str(told.value)
    for word in ("tabel", "seven", "zone", "partition_rows", "perhaps", "columns", "branch"):
        assert word in text
    assert "the location is missing" in text
    assert "'table' is missing" in text
    assert "'version' and 'as_of' cannot be combined" in text
    assert "hush" not in text


@pytest.mark.parametrize(
    "error",
    [
        UnknownTable(table_key="node:X", known=("node:A", "node:Ü")),
        InvalidData(table_key="node:X", problems=(DataProblem("a", 'is "odd"', 3),)),
        InvalidOptions(problems=("one", "two")),
    ],
)
def test_errors_are_found_again_in_text(error: UnknownTable) -> None:
    """Whatever Spark writes around it; and nothing is found where nothing is."""
    with pytest.raises(TransportedError) as told, transport_errors():
        raise error
    wrapped = RuntimeError(f"Traceback\n  {pickle.loads(pickle.dumps(told.value))}\n\tat java.lang")
    found = cause_of(wrapped)
    assert type(found) is type(error)
    assert attrs.asdict(found) == attrs.asdict(error)
    assert str(found) == str(error)
    assert cause_of(error) is error
    assert cause_of(RuntimeError("omnigraph-error: {}")) is None
    assert cause_of(RuntimeError("other")) is None
