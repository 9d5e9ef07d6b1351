"""The names that the package offers."""

from __future__ import annotations

import ast
from pathlib import Path

import omnigraph_testing


def test_type_checkers_see_the_names_that_exist() -> None:
    """The imports for type checkers and the table of lazy imports name the same things."""
    tree = ast.parse(Path(omnigraph_testing.__file__).read_text(encoding="utf-8"))
    (typed,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {
        alias.name: node.module
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == omnigraph_testing._MODULE_OF
    assert sorted(seen) == sorted(omnigraph_testing.__all__)
    for name in omnigraph_testing.__all__:
        assert getattr(omnigraph_testing, name) is not None
