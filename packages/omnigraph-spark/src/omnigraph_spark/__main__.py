"""``python -m omnigraph_spark``; and what spark-submit is given."""

import sys

from omnigraph_spark._jobs.program import main

if __name__ == "__main__":
    sys.exit(main())
