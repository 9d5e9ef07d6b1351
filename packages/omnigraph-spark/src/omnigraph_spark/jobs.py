"""Jobs on a whole graph: functions, and the program ``omnigraph-spark``.

Each job takes the session and the location of the repository, sends progress to a listener, and
returns a report whose text is a summary.
"""

import omnigraph_spark._pyspark_check  # noqa: F401  # before anything that imports pyspark

# isort: split

from omnigraph_spark._jobs.diff_job import DiffReport, diff
from omnigraph_spark._jobs.export_job import ExportedTable, ExportReport, export
from omnigraph_spark._jobs.load.load_job import load
from omnigraph_spark._jobs.load.load_result import LoadedTable, LoadReport
from omnigraph_spark._jobs.merge_job import merge
from omnigraph_spark._jobs.optimize_job import optimize
from omnigraph_spark._jobs.verify_job import verify
from omnigraph_spark._options.output_formats import DIFF_FORMATS, FORMATS

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
