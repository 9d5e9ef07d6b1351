"""docs/events.md names every event that the code reports, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_NAME = re.compile(r"`([a-z_.]+)`")


def _emitted(package: str) -> set[str]:
    """Read from the syntax trees what is given to ``emit`` and ``timed``."""
    found = set()
    for path in (ROOT / "packages" / package.replace("_", "-") / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in {"emit", "time_event"} and "events" not in path.stem:
                name = node.args[0]
                assert isinstance(name, ast.Constant), f"{path}:{node.lineno} has no fixed name"
                found.add(name.value)
    return found


def _documented(package: str) -> set[str]:
    """Read the first cells of the tables below the heading of a package."""
    text = (ROOT / "docs" / "events.md").read_text()
    part = re.split(rf"^## {package}$", text, flags=re.MULTILINE)[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in _NAME.findall(row.split("|")[1])}


@pytest.mark.parametrize("package", ["omnigraph_l1", "omnigraph_l2"])
def test_every_event_is_documented(package: str) -> None:
    """Each event of a package is in its table, and each line there is an event."""
    assert _documented(package) == _emitted(package)


@pytest.mark.parametrize("package", ["omnigraph_spark", "omnigraph_testing"])
def test_other_packages_emit_no_events(package: str) -> None:
    """As the page says."""
    assert _emitted(package) == set()
