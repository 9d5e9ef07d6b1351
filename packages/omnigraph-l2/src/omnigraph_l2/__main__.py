"""``python -m omnigraph_l2`` is the program ``omnigraph``."""

from __future__ import annotations

import sys

from omnigraph_l2._cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
