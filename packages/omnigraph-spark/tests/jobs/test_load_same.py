"""A load does what a plain loader in Python does, whatever the format and the rows."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from sizes import sized

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_spark.jobs import LoadReport, load

pytestmark = pytest.mark.spark

_SEEDS = range(sized(1, 12))
_ROWS = 400
_FORMATS = ("csv", "ndjson", "parquet")
_PROPERTIES = {"n": pa.int16(), "d": pa.decimal128(6, 2), "t": pa.string()}
SCHEMA = GraphSchema(
    nodes=[NodeType(kind, _PROPERTIES, required=("t",)) for kind in _FORMATS],
    edges=[EdgeType("pairs", "csv", "csv", {"n": pa.int16()})],
)
Row = dict[str, Any]


def _nodes(rng: random.Random) -> list[Row]:
    numbers = ["1", "-7", " 12", "32767", "32768", "x", "1.0", None]
    decimals = ["1.5", "2.00", "1.239", "1.230", "9999.99", "10000", "-.5", "abc", "1e1", None]
    texts = ["a", "ü {}", 'say "x", or so', "€\u2028", "'", None, "b\\", "c\td"]
    return [
        {
            "key": rng.choice(["k", "é", "x y", None, *(f"r{n}" for n in range(250))]),
            "n": rng.choice(numbers),
            "d": rng.choice(decimals),
            "t": rng.choice(texts),
            "keep": rng.choice(["yes", "yes", "yes", "no", None]),
            "rank": f"{number:05}",
        }
        for number in range(_ROWS)
    ]


def _edges(rng: random.Random, nodes: list[Row]) -> list[Row]:
    keys = [row["key"] for row in nodes]
    return [
        {
            "a": rng.choice([*keys, "nobody", None]),
            "b": rng.choice([*keys, "r0", "r1"]),
            "n": rng.choice(["1", "2", None, "x"]),
        }
        for _ in range(_ROWS)
    ]


def _whole(text: str | None) -> tuple[bool, int | None]:
    if text is None:
        return True, None
    good = re.fullmatch(r"\s*[+-]?\d+\s*", text) is not None and abs(int(text)) < 2**15
    return good, int(text) if good else None


def _decimal(text: str | None) -> tuple[bool, Decimal | None]:
    if text is None:
        return True, None
    if not re.fullmatch(r"-?\d*\.?\d+", text):
        return False, None
    value = Decimal(text)
    good = value == value.quantize(Decimal("0.01")) and abs(value) < 10**4
    return good, value.quantize(Decimal("0.01")) if good else None


class Plain:
    """The loader: rows in, what is loaded and the counts out."""

    def __init__(self) -> None:
        self.loaded: dict[str, Row] = {}
        self.rejected: Counter[str] = Counter()
        self.left: Counter[str] = Counter()

    def nodes(self, rows: list[Row]) -> Plain:
        """Load nodes: the first by rank, counted from the end, of each id."""
        good: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            (fits, n), (also, d) = _whole(row["n"]), _decimal(row["d"])
            if row["keep"] != "yes":
                self.left["where"] += 1
            elif row["key"] is None:
                self.rejected["no_id"] += 1
            elif not fits or not also:
                self.rejected["unfit"] += 1
            elif row["t"] is None:
                self.rejected["null"] += 1
            else:
                made = {"id": f"<{row['key']}>", "n": n, "d": d, "t": row["t"]}
                good[made["id"]].append({**made, "rank": row["rank"]})
        for name, several in good.items():
            first = max(several, key=lambda row: row["rank"])
            self.loaded[name] = {key: first[key] for key in ("id", "n", "d", "t")}
            if len(several) > 1:
                self.left["not_first"] += len(several) - 1
        return self

    def edges(self, rows: list[Row], nodes: dict[str, Row]) -> Plain:
        """Load edges by a hash; equal ones are one."""
        for row in rows:
            fits, n = _whole(row["n"])
            src, dst = f"<{row['a']}>", f"<{row['b']}>"
            if None in {row["a"], row["b"]}:
                self.rejected["no_end"] += 1
            elif not fits:
                self.rejected["unfit"] += 1
            elif not {src, dst} <= nodes.keys():
                self.rejected["missing_end"] += 1
            else:
                name = _hashed(src, dst, n)
                if name in self.loaded:
                    self.left["same"] += 1
                self.loaded[name] = {"id": name, "src": src, "dst": dst, "n": n}
        return self


def _hashed(src: str, dst: str, n: int | None) -> str:
    """Give the id that an edge has for ever."""
    parts = [f"src={len(src)}:{src}", f"dst={len(dst)}:{dst}"]
    parts.append("" if n is None else f"n={len(str(n))}:{n}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:32]


def _write(location: Path, kind: str, name: str, rows: list[Row]) -> str:
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        path = location / f"{name}{number}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(part), path)
        elif kind == "ndjson":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in part), "utf-8")
        else:
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, list(part[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(part)
    return f"{name}*.{kind}"


def _mapping(files: dict[str, str], edges: str) -> dict[str, Any]:
    tables: list[dict[str, Any]] = [
        {"table": "edge:pairs", "files": edges, "src": "<{a}>", "dst": "<{b}>",
         "duplicates": "same"},
    ]  # fmt: skip
    tables += [
        {"table": f"node:{kind}", "files": nodes, "id": "<{key}>", "where": "keep = 'yes'",
         "duplicates": "first", "order_by": ["rank desc"]}
        for kind, nodes in files.items()
    ]  # fmt: skip
    return {"tables": tables, "max_rejects": "100%"}


@pytest.mark.parametrize("seed", _SEEDS)
def test_as_a_plain_loader_does(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Three formats in one load: the same rows, the same reasons, the same ids."""
    rng = random.Random(seed)
    given = {kind: _nodes(rng) for kind in _FORMATS}
    edges = _edges(rng, given["csv"])
    files = {kind: _write(tmp_path, kind, "nodes", rows) for kind, rows in given.items()}
    mapping = _mapping(files, _write(tmp_path, rng.choice(_FORMATS), "edges", edges))
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        report = load(spark, repo.uri, mapping, base=str(tmp_path))
        expected = {kind: Plain().nodes(rows) for kind, rows in given.items()}
        for kind, each in expected.items():
            assert len(each.loaded) > 50
            _compare(repo, report, f"node:{kind}", each)
        pairs = Plain().edges(edges, expected["csv"].loaded)
        assert len(pairs.loaded) > 20
        _compare(repo, report, "edge:pairs", pairs)


def _compare(repo: Repository, report: LoadReport, key: str, expected: Plain) -> None:
    found = {row["id"]: row for row in repo.snapshot().read(key).to_pylist()}
    assert found == expected.loaded
    table = report.tables[key]
    assert (table.read, table.loaded) == (_ROWS, len(expected.loaded))
    assert Counter(table.rejected) == expected.rejected
    assert Counter(table.left_out) == expected.left
