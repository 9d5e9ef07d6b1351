"""Repositories to tag in."""

from __future__ import annotations

import sys
from pathlib import Path

from two_people import local, repo

__all__ = ["local", "repo"]

sys.path.insert(0, str(Path(__file__).parent))
