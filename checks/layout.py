"""Where the packages are, and what may import what. Shared by the checks of this folder."""

from __future__ import annotations

import ast
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
"""Which may use nothing of another but its public names."""


def source_of(package: str) -> Path:
    """Give the folder of a package's modules."""
    return ROOT / "packages" / package.replace("_", "-") / "src" / package


def modules_of(package: str) -> Iterator[Path]:
    """Give each module of a package."""
    yield from sorted(source_of(package).rglob("*.py"))


def imports_of(path: Path) -> Iterator[tuple[str, str | None]]:
    """Give each import in a module, wherever it stands: the module, and the name taken from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)
