"""Run a job: ``python -m omnigraph_spark``, or this file with spark-submit."""

import sys

from omnigraph_spark._program.job_program import main

if __name__ == "__main__":
    sys.exit(main())
