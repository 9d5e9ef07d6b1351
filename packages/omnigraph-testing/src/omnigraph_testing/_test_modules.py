"""Test modules in another process: pytest loads them under names that are not importable there.

Invariant: what is described in one process is found under the same names in the other, with the
folders above it as packages, because pickle wants them all. Only the standard library is used:
the other process loads this before anything else.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

__all__ = ["FilesOfTests", "modules_of_tests"]


def modules_of_tests() -> dict[str, dict[str, Any]]:
    """Describe the modules that cannot be found by name alone, and the packages above them."""
    names: set[str] = set()
    for name, module in list(sys.modules.items()):
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if type(loader).__module__.startswith("_pytest."):
            parts = name.split(".")
            names.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return {name: _description(sys.modules.get(name)) for name in names}


def _description(module: ModuleType | None) -> dict[str, Any]:
    # pytest does not make every folder above a test a package.
    path = getattr(module, "__path__", None)
    file = getattr(module, "__file__", None)
    if path is None and file is None:
        path = []
    return {"file": file, "path": None if path is None else list(path)}


class FilesOfTests:
    """Find modules that the parent loaded in its own way, as pytest does with tests."""

    def __init__(self, modules: dict[str, dict[str, Any]]) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer the import system: a file that was described, or an empty package."""
        known = self._modules.get(name)
        if known is None:
            return None
        if known["file"] is None:
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = known["path"]
            return spec
        return importlib.util.spec_from_file_location(
            name, known["file"], submodule_search_locations=known["path"]
        )
