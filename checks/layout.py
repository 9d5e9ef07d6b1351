"""Where the packages are, and what may import what. Shared by the checks of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("omnigraph_l1", "omnigraph_l2", "omnigraph_spark", "omnigraph_testing")

MAY_IMPORT = {
    "omnigraph_l1": set[str](),
    "omnigraph_l2": {"omnigraph_l1"},
    "omnigraph_spark": {"omnigraph_l2"},
    "omnigraph_testing": {"omnigraph_l1", "omnigraph_l2"},
}
"""Which of our packages each may import at all."""

PUBLIC_ONLY = {"omnigraph_l2", "omnigraph_spark", "omnigraph_testing"}
"""Which may use only public names of another."""


def source_of(package: str) -> Path:
    """Return the folder of a package's modules."""
    return ROOT / "packages" / package.replace("_", "-") / "src" / package


def modules_of(package: str) -> Iterator[Path]:
    """Yield each module of a package."""
    yield from sorted(source_of(package).rglob("*.py"))
