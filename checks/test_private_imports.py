"""Tests use public names, as users do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from layout import ROOT

UNITS = {
    "omnigraph-l1": {
        "conflicts/covering.py",
        "conflicts/matrix_page.py",
        "conflicts/test_properties.py",
        "conflicts/test_rules.py",
        "lance/provocations.py",
        "lance/test_manifest_names.py",
        "lance/test_transaction_records.py",
        "refs/test_lost_replies.py",
    },
    "omnigraph-l2": {
        "catalog/catalog_histories.py",
        "catalog/naive_catalog.py",
        "catalog/test_damage.py",
        "catalog/test_fold.py",
        "catalog/test_following.py",
        "catalog/test_planning.py",
        "cli/test_cli_units.py",
        "cli/test_log_graph.py",
        "cli/test_schema_toml.py",
        "cli/test_value_conversion.py",
        "comparing/lineages.py",
        "comparing/test_bounds.py",
        "comparing/test_values.py",
        "data/row_input.py",
        "data/test_frames.py",
        "data/test_ids.py",
        "data/test_spool.py",
        "evolving/test_planning.py",
        "explore/page_access.py",
        "explore/test_answer_limits.py",
        "explore/test_cell_text.py",
        "explore/test_graph_lanes.py",
        "merging/test_dag.py",
        "merging/test_wide_rows.py",
        "migrations/old_catalogs.py",
    },
    "omnigraph-spark": {
        "jobs/test_at_once.py",
        "jobs/test_export.py",
        "jobs/test_load.py",
        "jobs/test_load_casting.py",
        "jobs/test_load_mapping.py",
        "jobs/test_program.py",
        "session/test_session.py",
        "shared/reading.py",
        "source/test_filters.py",
        "source/test_options.py",
        "source/test_partitions.py",
        "types/test_types.py",
        "writing/test_lost_replies.py",
        "writing/test_options.py",
        "writing/test_same.py",
        "writing/test_transaction.py",
    },
    "omnigraph-testing": {
        "faults/test_budget.py",
        "gateway/test_fault_controls.py",
        "gateway/test_passing.py",
        "histories/test_smallest_cycles.py",
        "servers/test_lifetime.py",
        "strategies/test_names.py",
    },
}
"""Modules of tests that import private names: of a pure unit that has too many cases for a test
through the public interface, or of a file format. This list only gets shorter."""


@pytest.mark.parametrize("package", UNITS)
def test_private_names_are_imported_by_these_modules_only(package: str) -> None:
    """A test of behaviour survives a change of the structure."""
    tests = ROOT / "packages" / package / "tests"
    found = {
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        if _imports_private_names(path)
    }
    assert found - UNITS[package] == set(), "use public names"
    assert UNITS[package] - found == set(), "take these off the list"


def _imports_private_names(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{each.name}" for each in node.names]
        if any(_is_private(name) for name in names):
            return True
    return False


def _is_private(name: str) -> bool:
    package, *parts = name.split(".")
    return package.startswith("omnigraph_") and any(part.startswith("_") for part in parts)
