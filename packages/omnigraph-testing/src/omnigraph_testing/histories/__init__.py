"""Concurrent histories: recorded from real processes, and judged for a serial order."""

from omnigraph_testing.histories._check import check
from omnigraph_testing.histories._model import (
    Append,
    Element,
    History,
    Key,
    MicroOp,
    Outcome,
    Read,
    Transaction,
)
from omnigraph_testing.histories._ndjson import read_history, read_journals, write_history
from omnigraph_testing.histories._report import Anomaly, AnomalyKind, Edge, Relation, Report

__all__ = [
    "Anomaly",
    "AnomalyKind",
    "Append",
    "Edge",
    "Element",
    "History",
    "Key",
    "MicroOp",
    "Outcome",
    "Read",
    "Relation",
    "Report",
    "Transaction",
    "check",
    "read_history",
    "read_journals",
    "write_history",
]
