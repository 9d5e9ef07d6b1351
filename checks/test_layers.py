"""Packages and their folders import downward only: read from the syntax trees."""

from __future__ import annotations

import importlib

import pytest
from import_graph import PackageImports, find_cycle, imports_of
from layout import MAY_IMPORT, PACKAGES, PUBLIC_ONLY, modules_of, source_of


@pytest.mark.parametrize("package", PACKAGES)
def test_the_folders_of_a_package_import_only_lower_tiers(package: str) -> None:
    """Each folder or module below a package is in one tier of LAYERS, and imports from lower ones.

    ``python checks/import_graph.py <package>`` lists the violations and proposes tiers.
    """
    violations = PackageImports(source_of(package)).violations()
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_do_not_import_each_other_in_a_circle(package: str) -> None:
    """Each module can be understood from those below it."""
    cycle = find_cycle(PackageImports(source_of(package)).module_graph())
    assert not cycle, " → ".join(cycle)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_the_layers_below(package: str) -> None:
    """L1 imports none of ours, L2 only L1, Spark only L2, testing what its users see."""
    for path in modules_of(package):
        for each in imports_of(path):
            top = each.module.partition(".")[0]
            if top.startswith("omnigraph_") and top != package:
                assert top in MAY_IMPORT[package], f"{path}:{each.line} imports {each.module}"


@pytest.mark.parametrize("package", sorted(PUBLIC_ONLY))
def test_a_package_uses_only_public_names_of_others(package: str) -> None:
    """What is taken from another package is in the ``__all__`` of a public module of it."""
    for path in modules_of(package):
        for each in imports_of(path):
            top = each.module.partition(".")[0]
            if not top.startswith("omnigraph_") or top == package:
                continue
            where = f"{path}:{each.line} imports {each.target}"
            assert not any(part.startswith("_") for part in each.module.split(".")), where
            if each.name is not None:
                assert each.name in importlib.import_module(each.module).__all__, where


_LIKE_STRANGERS = ("_cli", "_explore")
"""Folders of L2 that are programs next to the library, and use it as its users do."""

_PUBLIC_MODULES = {
    "omnigraph_l2",
    *(f"omnigraph_l2.{name}" for name in ("errors", "reports", "schema_changes")),
}


@pytest.mark.parametrize("folder", _LIKE_STRANGERS)
def test_the_programs_use_only_public_names(folder: str) -> None:
    """What the programs can do, others can: they take nothing private, and nothing of L1."""
    inside = tuple(f"omnigraph_l2.{each}" for each in _LIKE_STRANGERS)
    for path in (source_of("omnigraph_l2") / folder).rglob("*.py"):
        for each in imports_of(path):
            if not each.module.startswith("omnigraph_") or each.target.startswith(inside):
                continue
            where = f"{path}:{each.line} imports {each.target}"
            assert each.module in _PUBLIC_MODULES, where
            if each.name is not None:
                assert each.name in importlib.import_module(each.module).__all__, where
