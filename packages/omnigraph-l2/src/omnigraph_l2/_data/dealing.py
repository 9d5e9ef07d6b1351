"""Rows in the order of the numbered parts that they are dealt out to. Pure.

Always: rows of one part keep the order that they had.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["by_part"]


def by_part(
    part_of: npt.NDArray[np.integer], parts: int
) -> tuple[npt.NDArray[np.intp], Iterator[tuple[int, slice]]]:
    """Give the order that brings each part together, and where each part that has rows is then."""
    ends = np.cumsum(np.bincount(part_of, minlength=parts)).tolist()
    where = enumerate(map(slice, [0, *ends[:-1]], ends))
    return np.argsort(part_of, kind="stable"), (
        (part, rows) for part, rows in where if rows.stop > rows.start
    )
