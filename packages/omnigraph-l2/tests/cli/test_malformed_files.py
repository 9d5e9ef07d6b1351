"""``load`` of malformed files: a typed error or rejected rows, and no partial load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_run import RunCommand

_ODD = r"""{"id": "ok", "name": "ok"}
{"id": "nan", "name": "x", "age": NaN}
{"id": "half", "name": "\ud800"}
{"id": "\ud800", "nmae": [-Infinity]}
{"id": "deep", "name": {"a": [1.5, "x"]}}
"""


def test_rejected_rows_are_valid_json(graph: RunCommand, folder: Path) -> None:
    """Also NaN and infinity, lone surrogates, and decimals in lists."""
    (folder / "plus.toml").write_text(
        "[nodes.Person.properties]\nname = { type = 'string', required = true }\n"
        "age = 'int32'\nprice = 'decimal(9, 2)'\n[edges.Knows]\nsource = 'Person'\n"
        "target = 'Person'\nproperties.since = 'date32'\n"
    )
    graph("evolve", "plus.toml")  # a decimal makes all numbers of JSON keep their digits
    (folder / "odd.ndjson").write_text(_ODD)
    result = graph(
        "load", "node:Person", "odd.ndjson", "--rejects", "r.ndjson", "--max-rejects", "4", "--json"
    ).document
    assert (result["loaded"], result["rejected"]) == (1, 4)

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    lines = (folder / "r.ndjson").read_text().splitlines()
    rows = [json.loads(line, parse_constant=refused)["row"] for line in lines]
    assert rows == [
        {"id": "nan", "name": "x", "age": "NaN"},
        {"id": "half", "name": "\ud800"},
        {"id": "\ud800", "nmae": ["-Infinity"]},
        {"id": "deep", "name": {"a": ["1.5", "x"]}},
    ]


def test_a_share_of_rejects_is_shown_as_written(graph: RunCommand, folder: Path) -> None:
    """The share is shown as the user wrote it."""
    (folder / "bad.csv").write_text("id,name,age\nx,X,old\n")
    assert "1.5% allowed" in graph(
        "load", "node:Person", "bad.csv", "--max-rejects", "1.5%", status=2
    ).err  # fmt: skip


@pytest.mark.usefixtures("processes")
def test_a_full_disk_for_rejects_is_reported(graph: RunCommand, folder: Path) -> None:
    """Nothing is published, because rejected rows would be lost."""
    (folder / "bad.ndjson").write_text("".join(f'{{"id": "z{n}"}}\n' for n in range(3000)))
    line = (
        'ulimit -f 40; exec "$0" -m omnigraph_l2 load node:Person bad.ndjson --rejects r.ndjson '
        "--max-rejects 100%"
    )
    failed = subprocess.run(
        ["bash", "-c", line, sys.executable], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert failed.stderr == (
        "failed: Cannot write r.ndjson: File too large. Nothing was published.\n"
    )
    assert len(graph("log", "--json").lines) == 2


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"id,name,name\nx,X,X\n", "is 2 times in odd.csv"),
        (b"id,name\rx,X\ry,Y\r", "lines end in CR alone"),
        (b'id,name\nx,"X\ny,Y\nz,Z\n', "unbalanced quote"),
        (b"id,name\nx,\xff\n", "Cannot read odd.csv as csv"),
        (b"id,name\nx," + b"x" * 17_000_000 + b"\n", "a row of CSV exceeds 8 MiB"),
    ],
    ids=["names", "ends", "quote", "text", "long"],
)
def test_malformed_csv_is_reported(
    graph: RunCommand, folder: Path, data: bytes, problem: str
) -> None:
    """No row is loaded."""
    (folder / "odd.csv").write_bytes(data)
    assert problem in graph("load", "node:Person", "odd.csv", "--max-rejects", "9", status=2).err
    assert len(graph("log", "--json").lines) == 2


@pytest.mark.parametrize("data", [b"id,name,age\n", b"\xef\xbb\xbfid,name,age", b"id,name\r\n\r\n"])
def test_a_header_without_rows_is_empty(graph: RunCommand, folder: Path, data: bytes) -> None:
    """``cat`` writes such a file for an empty table."""
    (folder / "none.csv").write_bytes(data)
    result = graph("load", "node:Person", "none.csv", "--json").document
    assert (result["read"], result["commit_id"]) == (0, None)


def test_values_of_megabytes(graph: RunCommand, folder: Path) -> None:
    """In each format, also with line ends in values."""
    long = "x\n" * 3_000_000
    (folder / "l.csv").write_text(f'id,name\nc,"{long}"\n')
    (folder / "l.ndjson").write_text(json.dumps({"id": "j", "name": long}))
    pq.write_table(pa.table({"id": ["p"], "name": [long]}), "l.parquet")
    graph("load", "node:Person", "l.csv", "l.ndjson", "l.parquet")
    assert [row["name"] == long for row in graph("cat", "node:Person", "--json").lines[-3:]] == [
        True
    ] * 3


def test_invalid_text_in_parquet_is_rejected(graph: RunCommand, folder: Path) -> None:
    """Text that is not UTF-8."""
    _, offsets, _ = pa.array(["ab"]).buffers()
    names = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    pq.write_table(pa.table({"id": ["p"], "name": names}), "odd.parquet")
    failed = graph("load", "node:Person", "odd.parquet", status=2)
    assert "Cannot read odd.parquet as parquet" in failed.err
    assert "UTF8" in failed.err
