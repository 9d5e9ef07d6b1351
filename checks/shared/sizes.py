"""How much a test does: less by default, all of it in ``nox -s nightly``."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

__all__ = ["FULL_SIZE", "commit_seed", "sampled", "sized"]

FULL_SIZE: Final = os.environ.get("OMNIGRAPH_FULL_SIZE") == "1"
_T = TypeVar("_T")


def sized(default: _T, full: _T) -> _T:
    """Return what this run does."""
    return full if FULL_SIZE else default


@cache
def commit_seed() -> int:
    """Return a number that differs between commits, so that later runs cover what this one omits.

    All workers of a run, and those who repeat it, get the same number.
    """
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=Path(__file__).parent, check=False, capture_output=True, text=True,
    )  # fmt: skip
    return int(found.stdout.strip() or "0", 16) % 10_000


def sampled(choices: Iterable[_T], count: int) -> list[_T]:
    """Return so many of the choices in their order, others at each commit; all at full size."""
    every = list(choices)
    if FULL_SIZE or count >= len(every):
        return every
    chosen = random.Random(commit_seed()).sample(range(len(every)), count)
    return [every[index] for index in sorted(chosen)]
