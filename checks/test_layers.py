"""Layers import downward only, and only what is public: read from the syntax trees."""

from __future__ import annotations

import importlib

import pytest
from layout import MAY_IMPORT, PACKAGES, PUBLIC_ONLY, imports_of, modules_of, source_of

# Inside L1: a folder may import those to its right, never the other way.
_L1_FOLDERS = ("_table", "_versions", "_refs", "_lance", "_conflicts", "_places")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_the_layers_below(package: str) -> None:
    """L1 imports none of ours, L2 only L1, Spark only L2, testing what its users see."""
    for path in modules_of(package):
        for module, _ in imports_of(path):
            top = module.partition(".")[0]
            if top.startswith("omnigraph_") and top != package:
                assert top in MAY_IMPORT[package], f"{path} imports {module}"


@pytest.mark.parametrize("package", sorted(PUBLIC_ONLY))
def test_a_package_uses_only_public_names_of_others(package: str) -> None:
    """What is taken from another package is in the ``__all__`` of a public module of it."""
    for path in modules_of(package):
        for module, name in imports_of(path):
            top = module.partition(".")[0]
            if not top.startswith("omnigraph_") or top == package:
                continue
            private = [part for part in module.split(".") if part.startswith("_")]
            assert not private, f"{path} imports the private {module}"
            if name is not None:
                public = importlib.import_module(module).__all__
                assert name in public, f"{path} imports {name} from {module}, not public there"


_LIKE_STRANGERS = ("_cli", "_explore")
"""Inside L2: what stands beside the library, and uses it as its users do."""


@pytest.mark.parametrize("folder", _LIKE_STRANGERS)
def test_the_programs_use_only_public_names(folder: str) -> None:
    """What the programs can do, others can: they take nothing private, and nothing of L1."""
    inside = tuple(f"omnigraph_l2.{each}" for each in _LIKE_STRANGERS)
    for path in (source_of("omnigraph_l2") / folder).rglob("*.py"):
        for module, name in imports_of(path):
            if not module.startswith("omnigraph_"):
                continue
            if module.startswith(inside) or f"{module}.{name}".startswith(inside):
                continue
            assert module in {"omnigraph_l2", "omnigraph_l2.errors"}, f"{path} imports {module}"
            if name is not None:
                public = importlib.import_module(module).__all__
                assert name in public, f"{path} imports {name} from {module}, not public there"


def test_the_folders_of_l1_import_in_one_direction() -> None:
    """A table may use refs' neighbours, places know nothing of tables."""
    root = source_of("omnigraph_l1")
    for position, folder in enumerate(_L1_FOLDERS):
        above = {f"omnigraph_l1.{name}" for name in _L1_FOLDERS[:position]}
        for path in (root / folder).rglob("*.py"):
            for module, _ in imports_of(path):
                upward = [name for name in above if module.startswith(name)]
                assert not upward, f"{path} imports {module}, which is above it"


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_do_not_import_in_a_circle(package: str) -> None:
    """Each module can be understood from those below it."""
    names = {
        f"{package}." + ".".join(path.relative_to(source_of(package)).with_suffix("").parts): path
        for path in modules_of(package)
    }
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph = {
        name: {
            target
            for module, taken in imports_of(path)
            if (target := f"{module}.{taken}" if f"{module}.{taken}" in names else module) in names
            and target != name
        }
        for name, path in names.items()
    }
    done: set[str] = set()
    while rest := {name: needs - done for name, needs in graph.items() if name not in done}:
        free = {name for name, needs in rest.items() if not needs}
        assert free, f"these import each other: {_circle(rest)}"
        done |= free


def _circle(graph: dict[str, set[str]]) -> str:
    name = min(graph)
    seen: list[str] = []
    while name not in seen:
        seen.append(name)
        name = min(graph[name])
    return " → ".join([*seen[seen.index(name) :], name])
