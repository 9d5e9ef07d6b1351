"""Keeping a repository small and quick: removing what nobody needs, merging what is scattered."""

from omnigraph_l2._maintenance.cleaning import Cleaner
from omnigraph_l2._maintenance.report import CleanupReport, Swept
from omnigraph_l2._maintenance.retention import check_retention

__all__ = ["Cleaner", "CleanupReport", "Swept", "check_retention"]
