"""Every error that leaves omnigraph_spark is one of ``omnigraph_l2`` or derives from this base.

What is raised inside Spark's workers arrives wrapped by Spark, as text.
"""

from omnigraph_spark._errors.base import OmniGraphSparkError
from omnigraph_spark._errors.data import (
    InexactValue,
    InvalidOptions,
    OutputExists,
    UnsupportedTypes,
)
from omnigraph_spark._errors.jobs import InvalidMapping, JobFailed, LoadFailed, TooManyRejects
from omnigraph_spark._errors.session import (
    GraphFramesMissing,
    InterpreterMismatch,
    JavaUnusable,
    NotASession,
)
from omnigraph_spark._errors.streaming import StreamColumnsChanged

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
    "StreamColumnsChanged",
    "TooManyRejects",
    "UnsupportedTypes",
]
