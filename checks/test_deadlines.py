"""Bounds of waiting stand in one module of each package, and in one table of the documentation."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from omnigraph_l1 import deadlines as l1_deadlines
from omnigraph_l2._model import deadlines as l2_deadlines

ROOT = Path(__file__).resolve().parent.parent
MODULES = {
    "omnigraph_l1": l1_deadlines,
    "omnigraph_l2": l2_deadlines,
}
_ROW = re.compile(r"^\| `(\w+)` `([A-Z_]+_SECONDS)` \| ([\d.]+) \|", re.MULTILINE)
_WAITS = re.compile(r"PATIENCE|TIMEOUT|DEADLINE|_WAIT")


def test_the_table_of_the_documentation_is_complete() -> None:
    """Each constant has a row with its value, and no row is about anything else."""
    page = (ROOT / "docs" / "configuration.md").read_text()
    listed = {(package, name): float(value) for package, name, value in _ROW.findall(page)}
    defined = {
        (package, name): value
        for package, module in MODULES.items()
        for name, value in vars(module).items()
        if name.endswith("_SECONDS")
    }
    assert listed == defined


def test_no_other_module_has_a_bound_of_its_own() -> None:
    """A number of seconds that something waits is not written anywhere else."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in MODULES
        for path in (ROOT / "packages").glob(f"*/src/{package}/**/*.py")
        if path.name != "deadlines.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if _is_bound(node)
    ]
    assert found == []


def _is_bound(node: ast.AST) -> bool:
    """Return whether this is a constant, or the default of a ``timeout``, that is a number."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        named = any(isinstance(each, ast.Name) and _WAITS.search(each.id) for each in targets)
        return named and isinstance(node.value, ast.Constant)
    if isinstance(node, ast.FunctionDef):
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        return any(
            each.arg in {"timeout", "patience"} and isinstance(default, ast.Constant)
            for each, default in pairs
        ) and not any(
            isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list
        )
    return False
