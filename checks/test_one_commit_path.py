"""Every change of a graph goes through one loop, whatever operation makes it."""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest
from layout import source_of

ONLY_CALLERS = {
    # function: the modules of omnigraph_l2 that call it
    # the merge-insert with row-level CAS; the first rows of a new catalog go by it, too
    "cas_merge": {"_store/manifest_store.py", "_store/repository_init.py"},
    "compare_and_set": {"_commit/publisher.py"},  # the publish of rows of the catalog
    "check_integrity": {"_commit/commit_loop.py"},  # the integrity rules
    "check_unique": {"_commit/integrity.py", "_maintenance/verify_tables.py"},  # verify reports
    "ManifestBatchPublisher": {"_commit/branch_session.py"},
    "CommitLoop": {"_commit/branch_session.py"},
}
"""A function is called once, in one module, so that no operation has a path of its own."""


def _calls() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    source = source_of("omnigraph_l2")
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func
                name = (
                    called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                )
                found[name].append(path.relative_to(source).as_posix())
    return found


@pytest.mark.parametrize("function", ONLY_CALLERS)
def test_it_is_called_from_one_place(function: str) -> None:
    """Another caller would be another commit path, with checks of its own."""
    assert set(_calls()[function]) == ONLY_CALLERS[function]


@pytest.mark.parametrize("function", ["compare_and_set", "check_integrity"])
def test_it_is_called_once(function: str) -> None:
    """Two calls in one module would be two paths, too."""
    assert len(_calls()[function]) == 1
