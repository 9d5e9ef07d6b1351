"""What cleanup, optimize, migrate, repair and verify report, as values."""

from omnigraph_l2._maintenance.cleanup_report import CleanupReport, Swept
from omnigraph_l2._maintenance.migrate import MigrateReport
from omnigraph_l2._maintenance.optimize import OptimizedTable, OptimizeReport
from omnigraph_l2._maintenance.optimize import Outcome as OptimizeOutcome
from omnigraph_l2._maintenance.repair import RepairAction, RepairReport
from omnigraph_l2._maintenance.verify_report import Finding, Severity

__all__ = [
    "CleanupReport",
    "Finding",
    "MigrateReport",
    "OptimizeOutcome",
    "OptimizeReport",
    "OptimizedTable",
    "RepairAction",
    "RepairReport",
    "Severity",
    "Swept",
]
