"""The errors of omnigraph_spark. Other errors that leave it are those of ``omnigraph_l2``.

Errors from Spark's workers arrive as text inside errors of Spark; ``cause_of`` restores them.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l2.errors import OmniGraphError

__all__ = [
    "GraphFramesMissing",
    "InexactValue",
    "InterpreterMismatch",
    "InvalidMapping",
    "InvalidOptions",
    "JavaUnusable",
    "JobFailed",
    "LoadFailed",
    "NotASession",
    "OmniGraphSparkError",
    "OutputExists",
    "PySparkMissing",
    "StreamColumnsChanged",
    "TooManyRejects",
    "UnsupportedTypes",
]


class OmniGraphSparkError(OmniGraphError):
    """Base class of all errors that omnigraph_spark itself raises."""

    kind: ClassVar[str] = "omnigraph_spark_error"


@define(kw_only=True, slots=False)
class InvalidOptions(OmniGraphSparkError):
    """Options of a read or a write are invalid. All problems are listed."""

    kind: ClassVar[str] = "invalid_options"
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"Invalid options: {'; '.join(self.problems)}. Nothing was done."


@define(kw_only=True, slots=False)
class OutputExists(OmniGraphSparkError):
    """A job would write to paths that exist. All of them are listed."""

    kind: ClassVar[str] = "output_exists"
    paths: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"Output exists already: {', '.join(self.paths)}. Nothing was written. Choose another "
            "folder, remove it, or replace it with overwrite=True."
        )


@define(kw_only=True, slots=False)
class UnsupportedTypes(OmniGraphSparkError):
    """Columns of a table have types that Spark does not have. All of them are listed."""

    kind: ClassVar[str] = "unsupported_types"
    table_key: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"Spark has no types for columns of {self.table_key}: {'; '.join(self.problems)}. "
            "Leave them out with the option 'columns', or read the table with omnigraph_l2."
        )


@define(kw_only=True, slots=False)
class InexactValue(OmniGraphSparkError):
    """A value of a column cannot be represented exactly in Spark's type."""

    kind: ClassVar[str] = "inexact_value"
    table_key: str
    column: str
    found: str
    wanted: str
    detail: str

    def __str__(self) -> str:
        return (
            f"A value in {self.column!r} of {self.table_key} is {self.found}, and Spark has only "
            f"{self.wanted} for it, which cannot hold it: {self.detail}. Leave the column out with "
            "the option 'columns', or read the table with omnigraph_l2."
        )


@define(kw_only=True, slots=False)
class InvalidMapping(OmniGraphSparkError):
    """A mapping is invalid, or fits neither the graph nor the files. All problems are listed."""

    kind: ClassVar[str] = "invalid_mapping"
    problems: tuple[str, ...]

    def __str__(self) -> str:
        listed = "".join(f"\n  {each}" for each in self.problems)
        return f"Invalid mapping; no row was read:{listed}"


@define(kw_only=True, slots=False)
class TooManyRejects(OmniGraphSparkError):
    """More rows were rejected than ``max_rejects`` allows."""

    kind: ClassVar[str] = "too_many_rejects"
    read: int
    rejected: int
    allowed: str
    """The value of max_rejects."""
    counts: tuple[str, ...]
    """Each table with its reasons, and how many rows have each."""
    examples: tuple[str, ...]
    folder: str | None
    """The folder with the rejected rows."""

    def __str__(self) -> str:
        where = (
            f"They are in {self.folder}."
            if self.folder is not None
            else "They were not written: use rejects=… to keep them."
        )
        such = f" Such as: {'; '.join(self.examples)}." if self.examples else ""
        return (
            f"{self.rejected} of {self.read} rows were rejected, and max_rejects is "
            f"{self.allowed}: {'; '.join(self.counts)}.{such} {where} Nothing was published. Fix "
            "the files or the mapping, or allow more."
        )


@define(kw_only=True, slots=False)
class LoadFailed(OmniGraphSparkError):
    """Spark failed in a step of a load, or row counts do not match."""

    kind: ClassVar[str] = "load_failed"
    step: str
    table_key: str
    detail: str

    def __str__(self) -> str:
        message = f"{self.step} {self.table_key} failed: {self.detail}. Nothing was published."
        if self.step != "Reading":
            return message
        return (
            f"{message} If an expression raises, use its try_ form, or the "
            "column itself: values that do not fit are rejected one by one."
        )


@define(kw_only=True, slots=False)
class JobFailed(OmniGraphSparkError):
    """Spark failed in a step of a job that writes files."""

    kind: ClassVar[str] = "job_failed"
    step: str
    item: str
    """The table or the path."""
    detail: str

    def __str__(self) -> str:
        return (
            f"{self.step} {self.item} failed: {self.detail}. The output is incomplete. Fix "
            "the cause, and run the job again with overwrite=True."
        )


@define(kw_only=True, slots=False)
class PySparkMissing(OmniGraphSparkError, ImportError):
    """Pyspark is not installed, or in a version that is not supported."""

    kind: ClassVar[str] = "pyspark_missing"
    found: str

    def __str__(self) -> str:
        return (
            f"omnigraph-spark needs pyspark 4.3 or later, below 5, found {self.found}. Install it "
            "with pip install 'omnigraph-spark[pyspark]', or run on a cluster that has it."
        )


@define(kw_only=True, slots=False)
class JavaUnusable(OmniGraphSparkError):
    """Spark needs Java, and there is none, it is too old, or it does not run."""

    kind: ClassVar[str] = "java_unusable"
    found: str
    needed: int

    def __str__(self) -> str:
        return (
            f"Spark needs Java {self.needed} or later, found {self.found}. Install it (Debian, "
            f"Ubuntu: apt-get install openjdk-{self.needed}-jre-headless; Fedora: dnf install "
            f"java-{self.needed}-openjdk-headless; macOS: brew install openjdk@{self.needed}), "
            "or set JAVA_HOME to an existing one."
        )


@define(kw_only=True, slots=False)
class InterpreterMismatch(OmniGraphSparkError):
    """The Python of Spark's workers is missing or differs from that of this process."""

    kind: ClassVar[str] = "interpreter_mismatch"
    interpreter: str
    setting: str
    """An environment variable or a setting of Spark."""
    found: str
    needed: str

    def __str__(self) -> str:
        return (
            f"Invalid {self.setting} {self.interpreter!r}: expected Python {self.needed} for the "
            f"workers, as in this process, found {self.found}. Remove {self.setting}, or set it to "
            f"a Python {self.needed} in which omnigraph-spark is installed."
        )


@define(kw_only=True, slots=False)
class NotASession(OmniGraphSparkError):
    """An argument is not a Spark session."""

    kind: ClassVar[str] = "not_a_session"
    found: str

    def __str__(self) -> str:
        return (
            f"Expected a Spark session, found {self.found}. Create one with "
            "omnigraph_spark.session(), or pass an existing one."
        )


@define(kw_only=True, slots=False)
class GraphFramesMissing(OmniGraphSparkError):
    """The Python package or the jar of GraphFrames is missing."""

    kind: ClassVar[str] = "graph_frames_missing"
    lacking: str

    def __str__(self) -> str:
        return (
            f"GraphFrames is missing: {self.lacking}. It needs both the Python package "
            "graphframes-py and its jar in the session (spark.jars, or spark.jars.packages with "
            "io.graphframes:graphframes-spark4_2.13), which no Python package carries. Degrees, "
            "connected components, PageRank and neighbourhoods work without it: see read_graph."
        )


@define(kw_only=True, slots=False)
class StreamColumnsChanged(OmniGraphSparkError):
    """A table got new columns, or other types, after a stream of it was loaded."""

    kind: ClassVar[str] = "stream_columns_changed"
    table_key: str
    commit_id: str
    """The first commit that has rows with them."""
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.table_key} has other columns since this stream was loaded: from commit "
            f"{self.commit_id} on {'; '.join(self.problems)}. Nothing was lost: load the stream "
            "again (readStream … load) and start it with its checkpoint; it continues with this "
            "commit and these columns. Or name the wanted columns in the option 'columns'."
        )
