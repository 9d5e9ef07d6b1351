"""A graph at one snapshot, as DataFrames.

Invariant: all tables of a ``Graph`` come from one snapshot, also those that are read later. It
stores only the id of the commit, which no later branch of the same name can have. Retention, a tag
or a branch must keep that commit.
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
from omnigraph_spark._graph import graph_algorithms as algorithms
from omnigraph_spark._options.argument_checks import check_session
from omnigraph_spark.errors import GraphFramesMissing, InvalidOptions

__all__ = ["Graph", "read_graph"]

_NODE = "id string, type string"
_EDGE = "id string, src string, dst string, type string"


@attrs.frozen(kw_only=True)
class Graph:
    """A graph at one snapshot, returned by ``read_graph``."""

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
        """Return a table. ``filter`` is SQL of Lance; an index is used where there is one."""
        if table_key not in self.keys:
            raise UnknownTable(table_key=table_key, known=self.keys)
        options: dict[str, Any] = {f"storage.{k}": v for k, v in self._storage.items()}
        options |= {"table": table_key, **self._snapshot_options()}
        if columns is not None:
            options["columns"] = _encode_columns(columns)
        if filter is not None:
            options["filter"] = filter
        return self.spark.read.format("omnigraph").options(**options).load(self.uri)

    @property
    def nodes(self) -> DataFrame:
        """All nodes: ``id`` and ``type``."""
        return self._union("node:", ("id",), _NODE)

    @property
    def edges(self) -> DataFrame:
        """All edges: ``id``, ``src``, ``dst`` and ``type``."""
        return self._union("edge:", ("id", "src", "dst"), _EDGE)

    def views(self, prefix: str = "graph") -> dict[str, str]:
        """Create a temporary view of each table; return the names of the views by table key.

        ``graph_Person`` is the view of ``node:Person``. Characters that a name in SQL cannot have
        become ``_``. Where two names would be equal, both include their kind: ``graph_node_A``,
        ``graph_edge_A``.
        """
        names = view_names(self.keys, prefix)
        for key, name in names.items():
            self.table(key).createOrReplaceTempView(f"`{name}`")
        return names

    def graphframe(self) -> Any:
        """Return a GraphFrame. It needs the Python package and the jar of GraphFrames."""
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

    def degrees(self) -> DataFrame:
        """Count the edges of each node: ``id``, ``in_degree``, ``out_degree``, ``degree``."""
        return algorithms.degrees(self.nodes, self.edges)

    def connected_components(self, *, most_rounds: int = 100) -> DataFrame:
        """Return the connected component of each node: ``id``, ``component`` (its least id)."""
        return algorithms.connected_components(self.nodes, self.edges, most_rounds=most_rounds)

    def pagerank(self, *, damping: float = 0.85, rounds: int = 20) -> DataFrame:
        """Compute PageRank: ``id``, ``rank``. Ranks add up to 1."""
        return algorithms.pagerank(self.nodes, self.edges, damping=damping, rounds=rounds)

    def neighbourhood(self, ids: Sequence[str], hops: int, *, directed: bool = True) -> DataFrame:
        """Return the nodes within some hops: ``id``, ``distance``. Start nodes have distance 0."""
        return algorithms.neighbourhood(
            self.nodes, self.edges, ids=ids, hops=hops, directed=directed
        )

    def _snapshot_options(self) -> dict[str, Any]:
        if self.commit_id is None:
            return {"branch": self.branch, "version": self.version}
        # A tag keeps the data of a deleted branch.
        location = {"branch": self.branch} if self._tag is None else {"tag": self._tag}
        return {**location, "commit": self.commit_id}

    def _union(self, kind: str, columns: Sequence[str], schema: str) -> DataFrame:
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
    """Read a graph at its newest snapshot, or at a version, a commit, a time or a tag."""
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


def _encode_columns(columns: Sequence[str]) -> str:
    names: object = columns
    if isinstance(names, str):
        raise InvalidOptions(problems=(f"Invalid columns {names!r}: expected a list of names",))
    return json.dumps(list(columns))
