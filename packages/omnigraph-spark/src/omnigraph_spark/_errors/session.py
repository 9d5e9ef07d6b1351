"""What a Spark session needs and does not have."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_spark._errors.base import OmniGraphSparkError

__all__ = ["GraphFramesMissing", "InterpreterMismatch", "JavaUnusable", "NotASession"]


@define(kw_only=True, slots=False)
class JavaUnusable(OmniGraphSparkError):
    """Spark needs Java, and there is none, or it is too old, or it does not run."""

    kind: ClassVar[str] = "java_unusable"
    found: str
    needed: int

    def __str__(self) -> str:
        return (
            f"Spark needs Java {self.needed} or later, found {self.found}. Install it (Debian, "
            f"Ubuntu: apt-get install openjdk-{self.needed}-jre-headless; Fedora: dnf install "
            f"java-{self.needed}-openjdk-headless; macOS: brew install openjdk@{self.needed}), "
            "or let JAVA_HOME name one that is there."
        )


@define(kw_only=True, slots=False)
class InterpreterMismatch(OmniGraphSparkError):
    """The Python that Spark's workers run is missing, or is not that of this process."""

    kind: ClassVar[str] = "interpreter_mismatch"
    interpreter: str
    setting: str
    """What says so: an environment variable or a setting of Spark."""
    found: str
    needed: str

    def __str__(self) -> str:
        return (
            f"{self.setting} says that Spark's workers run {self.interpreter!r}, which is "
            f"{self.found}; this process is Python {self.needed}, and both must be the same. Take "
            f"{self.setting} away, or let it name a Python {self.needed} in which omnigraph-spark "
            "is installed."
        )


@define(kw_only=True, slots=False)
class NotASession(OmniGraphSparkError):
    """Something else was given where a Spark session is needed."""

    kind: ClassVar[str] = "not_a_session"
    found: str

    def __str__(self) -> str:
        return (
            f"A Spark session is needed here, found {self.found}. Make one with "
            "omnigraph_spark.session(), or give the one that you have."
        )


@define(kw_only=True, slots=False)
class GraphFramesMissing(OmniGraphSparkError):
    """A GraphFrame was asked for, and the session or Python has no GraphFrames."""

    kind: ClassVar[str] = "graph_frames_missing"
    lacking: str

    def __str__(self) -> str:
        return (
            f"There are no GraphFrames here: {self.lacking}. It needs both the Python package "
            "graphframes-py and its jar in the session (spark.jars, or spark.jars.packages with "
            "io.graphframes:graphframes-spark4_2.13), which no Python package carries. Degrees, "
            "connected components, PageRank and neighbourhoods work without it: see read_graph."
        )
