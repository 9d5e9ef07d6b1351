"""The same graph, read by Apache Spark, where Spark and Java are there.

Always: what Java says goes into a file, and not between the lines of the story.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from telling import chapter, code, plain, seen, styled, table

from omnigraph_l2 import Repository

HOW_TO_GET_IT = (
    "Spark was left out: it needs Java 17 (Debian, Ubuntu: sudo apt-get install "
    "openjdk-17-jre-headless).\nThen run python3 dev.py demo again: it installs Spark."
)
_ASKED = """
    SELECT dst AS package, count(DISTINCT src) AS needed_by FROM debian_Needs
    WHERE kind <> 'Recommends' GROUP BY dst ORDER BY needed_by DESC, dst LIMIT 3
"""


def ask_spark(place: Path) -> None:
    """Ask Spark what was asked before, or say how to get it."""
    try:
        import omnigraph_spark  # noqa: PLC0415  # it may not be there
        from omnigraph_spark import session  # noqa: PLC0415  # which needs pyspark
        from omnigraph_spark.errors import JavaUnusable  # noqa: PLC0415
    except ImportError:
        plain(f"\n{styled(HOW_TO_GET_IT, 'dim')}")
        return
    chapter(
        "The same graph with Spark",
        "Tables are data frames, and a query sees one snapshot. What executors write becomes "
        "visible by one publish of the driver. There is no server here, either.",
    )
    code("""
        graph = omnigraph_spark.read_graph(spark, place)
        graph.views("debian")
        spark.sql("SELECT dst, count(DISTINCT src) FROM debian_Needs …")
    """)
    with _stderr_in(place.parent / "spark.log"):
        try:
            spark = session("demo", "local[2]", {"spark.ui.enabled": False})
        except JavaUnusable as error:
            seen(str(error), good=False)
            return
        graph = omnigraph_spark.read_graph(spark, str(place))
        graph.views("debian")
        table(row.asDict() for row in spark.sql(_ASKED).collect())
        theirs = graph.table("node:Package").count()
        old = omnigraph_spark.read_graph(spark, str(place), tag="as-released")
        released = old.table("node:Package").count()
        spark.stop()
    with Repository.open(place) as repo:
        ours = repo.snapshot().tables["node:Package"].row_count
    seen(f"packages: {theirs:,} by Spark, {ours:,} by Python; as released: {released:,}")


@contextmanager
def _stderr_in(place: Path) -> Iterator[None]:
    """Send what this process and its children write to stderr into a file."""
    sys.stderr.flush()
    screen = os.dup(2)
    with place.open("wb") as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(screen, 2)
            os.close(screen)
