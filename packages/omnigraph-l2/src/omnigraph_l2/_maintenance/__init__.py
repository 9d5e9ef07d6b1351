"""Keeping a repository small and quick: removing what nobody needs, merging what is scattered."""

from omnigraph_l2._maintenance.cleaning import Cleaner
from omnigraph_l2._maintenance.optimizing import (
    OptimizedTable,
    Optimizer,
    OptimizeReport,
    Outcome,
)
from omnigraph_l2._maintenance.report import CleanupReport, Swept
from omnigraph_l2._maintenance.retention import check_retention, check_target

__all__ = [
    "Cleaner",
    "CleanupReport",
    "OptimizeReport",
    "OptimizedTable",
    "Optimizer",
    "Outcome",
    "Swept",
    "check_retention",
    "check_target",
]
