"""Concurrent histories: recorded from real processes, and judged for a serial order."""

from omnigraph_testing.errors import Aborted
from omnigraph_testing.histories._check import check
from omnigraph_testing.histories._journal import Client, Recorder
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
from omnigraph_testing.histories._ref_check import check_refs
from omnigraph_testing.histories._ref_model import (
    ABSENT,
    RefAction,
    RefAnswer,
    RefCall,
    RefRecorder,
    read_ref_journals,
)
from omnigraph_testing.histories._report import Anomaly, AnomalyKind, Edge, Relation, Report
from omnigraph_testing.histories._run import Kills, run
from omnigraph_testing.histories._worker import Worker
from omnigraph_testing.histories._workload import Workload

__all__ = [
    "ABSENT",
    "Aborted",
    "Anomaly",
    "AnomalyKind",
    "Append",
    "Client",
    "Edge",
    "Element",
    "History",
    "Key",
    "Kills",
    "MicroOp",
    "Outcome",
    "Read",
    "Recorder",
    "RefAction",
    "RefAnswer",
    "RefCall",
    "RefRecorder",
    "Relation",
    "Report",
    "Transaction",
    "Worker",
    "Workload",
    "check",
    "check_refs",
    "read_history",
    "read_journals",
    "read_ref_journals",
    "run",
    "write_history",
]
