"""A graph at one moment, as DataFrames.

Always: all tables of a ``Graph`` are of one snapshot, also those that are asked for later. It
remembers the commit and no more, which no other branch of the same name can have; what it reads
must be kept by the retention, by a tag or by a branch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Any

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_l2 import Repository, Snapshot
from omnigraph_l2.errors import UnknownTable
from omnigraph_l2.interop import view_names
from omnigraph_spark._graph import algorithms
from omnigraph_spark._session.given import check_session
from omnigraph_spark.errors import GraphFramesMissing, InvalidOptions

__all__ = ["Graph", "read_graph"]

_NODE = "id string, type string"
_EDGE = "id string, src string, dst string, type string"


@attrs.frozen(kw_only=True)
class Graph:
    """A graph at one moment. Get one from ``read_graph``."""

    spark: SparkSession = attrs.field(repr=False)
    uri: str
    branch: str
    version: int
    commit_id: str | None
    """None where the original program made the version without a commit."""
    keys: tuple[str, ...]
    """The tables, by their keys."""
    _tag: str | None
    _storage: Mapping[str, str] = attrs.field(repr=False)

    def table(
        self,
        table_key: str,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002 - the name that omnigraph_l2 has
    ) -> DataFrame:
        """Give a table; ``filter`` is Lance's SQL, and is served by an index where there is one."""
        if table_key not in self.keys:
            raise UnknownTable(table_key=table_key, known=self.keys)
        options: dict[str, Any] = {f"storage.{k}": v for k, v in self._storage.items()}
        options |= {"table": table_key, **self._moment()}
        if columns is not None:
            options["columns"] = _listed(columns)
        if filter is not None:
            options["filter"] = filter
        return self.spark.read.format("omnigraph").options(**options).load(self.uri)

    @property
    def nodes(self) -> DataFrame:
        """All nodes: ``id``, and the ``type`` that each has."""
        return self._all("node:", ("id",), _NODE)

    @property
    def edges(self) -> DataFrame:
        """All edges: ``id``, ``src``, ``dst`` and ``type``."""
        return self._all("edge:", ("id", "src", "dst"), _EDGE)

    def views(self, prefix: str = "graph") -> dict[str, str]:
        """Make a temporary view of each table, for SQL; give its name by table key.

        ``graph_Person`` is the view of ``node:Person``. What no name in SQL can have becomes ``_``;
        where two would be one, both have their kind in it: ``graph_node_A``, ``graph_edge_A``.
        """
        names = view_names(self.keys, prefix)
        for key, name in names.items():
            self.table(key).createOrReplaceTempView(f"`{name}`")
        return names

    def graphframe(self) -> Any:
        """Give a GraphFrame, where both its Python package and its jar are there."""
        try:
            from graphframes import (  # type: ignore[import-not-found]  # noqa: PLC0415 - few have it
                GraphFrame,
            )
        except ImportError as error:
            lacking = "Python has no package graphframes"
            raise GraphFramesMissing(lacking=lacking) from error
        try:
            return GraphFrame(self.nodes, self.edges)
        except Exception as error:
            if "org.graphframes" not in str(error) and "JavaPackage" not in str(error):
                raise
            raise GraphFramesMissing(lacking="the session has no jar of it") from error

    # Algorithms, on what ``nodes`` and ``edges`` are.

    def degrees(self) -> DataFrame:
        """Count the edges of each node: ``id``, ``in_degree``, ``out_degree``, ``degree``."""
        return algorithms.degrees(self.nodes, self.edges)

    def connected_components(self, *, most_rounds: int = 100) -> DataFrame:
        """Tell which nodes hang together: ``id``, ``component`` (the least id in it)."""
        return algorithms.connected_components(self.nodes, self.edges, most_rounds=most_rounds)

    def pagerank(self, *, damping: float = 0.85, rounds: int = 20) -> DataFrame:
        """Rank nodes by the edges that lead to them: ``id``, ``rank``, which sum up to 1."""
        return algorithms.pagerank(self.nodes, self.edges, damping=damping, rounds=rounds)

    def neighbourhood(self, ids: Sequence[str], hops: int, *, directed: bool = True) -> DataFrame:
        """Find what can be reached in some hops: ``id``, ``distance``; the start is 0 away."""
        return algorithms.neighbourhood(
            self.nodes, self.edges, ids=ids, hops=hops, directed=directed
        )

    def _moment(self) -> dict[str, Any]:
        if self.commit_id is None:
            return {"branch": self.branch, "version": self.version}
        # A tag keeps the data of a branch that is gone.
        place = {"branch": self.branch} if self._tag is None else {"tag": self._tag}
        return {**place, "commit": self.commit_id}

    def _all(self, kind: str, columns: Sequence[str], schema: str) -> DataFrame:
        tables = [
            self.table(key, columns).withColumn("type", F.lit(key[len(kind) :]))
            for key in self.keys
            if key.startswith(kind)
        ]
        if not tables:
            return self.spark.createDataFrame([], schema)
        return reduce(DataFrame.unionByName, tables)


def read_graph(
    spark: SparkSession,
    uri: str,
    *,
    branch: str = "main",
    version: int | None = None,
    commit: str | None = None,
    as_of: datetime | None = None,
    tag: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Graph:
    """Read a graph as it is, or as it was at a version, a commit, a tag, or a moment."""
    check_session(spark)
    with Repository.open(uri, storage_options) as repository:
        found: Snapshot = repository.snapshot(
            branch, version=version, commit=commit, as_of=as_of, tag=tag
        )
        return Graph(
            spark=spark,
            uri=repository.uri,
            branch=found.branch,
            version=found.version,
            commit_id=None if found.commit is None else found.commit.graph_commit_id,
            keys=tuple(found.tables),
            tag=tag,
            storage=dict(storage_options or {}),
        )


def _listed(columns: Sequence[str]) -> str:
    given: object = columns
    if isinstance(given, str):
        raise InvalidOptions(problems=(f"columns are a list of names, found {given!r}",))
    return json.dumps(list(columns))
