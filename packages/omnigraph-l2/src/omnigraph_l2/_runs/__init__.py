"""Runs: work on an internal branch that is published as one commit, or not at all."""

from omnigraph_l2._runs.run import Run, RunStatus
from omnigraph_l2._runs.runs import Runs

__all__ = ["Run", "RunStatus", "Runs"]
