"""Concurrent histories: recorded from real processes, and judged for a serial order."""

from omnigraph_testing.errors import Aborted
from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind, Edge, Relation, Report
from omnigraph_testing.histories._history_model import (
    Append,
    Element,
    History,
    Key,
    MicroOp,
    Outcome,
    Read,
    Transaction,
)
from omnigraph_testing.histories._history_run import Kills, run
from omnigraph_testing.histories._ndjson_files import read_history, read_journals, write_history
from omnigraph_testing.histories._process_journal import Client, Recorder
from omnigraph_testing.histories._random_workload import Workload
from omnigraph_testing.histories._serial_check import check
from omnigraph_testing.histories._worker_main import Worker

__all__ = [
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
    "Relation",
    "Report",
    "Transaction",
    "Worker",
    "Workload",
    "check",
    "read_history",
    "read_journals",
    "run",
    "write_history",
]
