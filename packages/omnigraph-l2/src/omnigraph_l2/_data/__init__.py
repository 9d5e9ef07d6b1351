"""Rows that come in from users, and what is remembered of them. Knows nothing of repositories."""

from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._data.incoming import Incoming, incoming
from omnigraph_l2._data.problems import DataProblem, DataProblems, SpillFailed
from omnigraph_l2._data.spool import Spool

__all__ = [
    "DataProblem",
    "DataProblems",
    "IdSet",
    "Incoming",
    "SpillFailed",
    "Spool",
    "incoming",
]
