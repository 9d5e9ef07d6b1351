"""Work on a whole graph that a cluster does: functions, and the program ``omnigraph-spark``.

Each takes the session and the place of the repository, tells a listener how far it has come, and
gives a report whose text sums it up.
"""

from omnigraph_spark._jobs.differing import DIFF_FORMATS, DiffReport, diff
from omnigraph_spark._jobs.exporting import ExportedTable, ExportReport, export
from omnigraph_spark._jobs.loading import LoadedTable, LoadReport, load
from omnigraph_spark._jobs.merging import merge
from omnigraph_spark._jobs.optimizing import optimize
from omnigraph_spark._jobs.output import FORMATS
from omnigraph_spark._jobs.verifying import verify

__all__ = [
    "DIFF_FORMATS",
    "FORMATS",
    "DiffReport",
    "ExportReport",
    "ExportedTable",
    "LoadReport",
    "LoadedTable",
    "diff",
    "export",
    "load",
    "merge",
    "optimize",
    "verify",
]
