"""Rows that come in from users, and what is remembered of them. Knows nothing of repositories."""

from omnigraph_l2._data.incoming import Incoming, incoming
from omnigraph_l2._data.problems import DataProblem, DataProblems, SpillFailed

__all__ = ["DataProblem", "DataProblems", "Incoming", "SpillFailed", "incoming"]
