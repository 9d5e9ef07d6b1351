"""Words that several messages share."""

from __future__ import annotations

__all__ = ["branch_words"]


def branch_words(branch: str | None) -> str:
    """Name a lineage."""
    return "main" if branch is None else f"branch {branch!r}"
