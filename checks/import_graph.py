"""Imports of a package, read from its syntax trees, and what its LAYERS say about them.

``LAYERS`` in ``<package>/_layers.py`` is a tuple of tiers, lowest first. A tier is a tuple of names
of folders and modules directly below the package. A folder imports from lower tiers only.

An import counts wherever it is: inside a function, under TYPE_CHECKING, in a stub, as the string
that ``import_module`` takes, or in a dict of an ``__init__`` that imports on first use. A name that
is imported from the package itself counts as an import of the folder that ``__init__`` takes it
from.

Run as a program it lists the violations of a package and proposes tiers that fit its imports:
``python checks/import_graph.py omnigraph_l1``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

UNLISTED = frozenset({"__init__", "__main__", "_layers"})
"""Modules of a package that are in no tier: the public names, the program, the tiers."""

_IMPORTS_BY_STRING = {"import_module", "__import__"}


class Import(NamedTuple):
    """One imported module, or one name imported from it."""

    line: int
    module: str
    name: str | None = None

    @property
    def target(self) -> str:
        """What is imported, as one dotted name."""
        return f"{self.module}.{self.name}" if self.name else self.module


def module_name(path: Path) -> str:
    """Return the dotted name of a module, which begins at the topmost folder with ``__init__``."""
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


def imports_of(path: Path) -> Iterator[Import]:
    """Yield each import of a module, wherever it is in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = module_name(path)
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute("." * node.level + (node.module or ""), package)
            yield from (Import(node.lineno, base, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and called_name(node) in _IMPORTS_BY_STRING:
            name, anchor = (strings(argument) for argument in [*node.args[:2], None, None][:2])
            for text in name:
                yield Import(node.lineno, absolute(text, *(anchor or [package])))
        elif isinstance(node, ast.Dict) and path.stem == "__init__":
            yield from late_imports(node, path.parent, package)


def late_imports(node: ast.Dict, folder: Path, package: str) -> Iterator[Import]:
    """Yield the imports that a dict describes: of names to modules, or of modules to names."""
    for key, value in zip(node.keys, node.values, strict=True):
        texts = [*strings(key), *strings(value)]
        modules = {text: found for text in texts if (found := local_module(text, folder, package))}
        names = [text for text in texts if text not in modules]
        for found in modules.values():
            yield from (Import(node.lineno, found, name) for name in names or [None])


def local_module(text: str, folder: Path, package: str) -> str | None:
    """Return the absolute name if the text is the name of a module of this package."""
    if not re.fullmatch(r"\.*\w+(\.\w+)*", text):
        return None
    top = package.partition(".")[0]
    if text.partition(".")[0] == top:
        return text
    inside = folder.joinpath(*text.strip(".").split("."))
    if text.startswith(".") or inside.with_suffix(".py").exists() or inside.is_dir():
        return absolute("." + text.lstrip("."), package)
    return None


def absolute(name: str, package: str) -> str:
    """Return the absolute name of a module that may begin with dots."""
    level = len(name) - len(name.lstrip("."))
    if not level:
        return name
    base = package.split(".")[: len(package.split(".")) - level + 1]
    return ".".join([*base, *filter(None, [name[level:]])])


def called_name(node: ast.Call) -> str:
    """Return the last part of the name of the called function."""
    return ast.unparse(node.func).rpartition(".")[2]


def strings(node: ast.AST | None) -> list[str]:
    """Return the text of a constant, or the texts of a tuple, list or set of them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return [text for element in node.elts for text in strings(element)]
    return []


class PackageImports:
    """Imports between the modules of one package."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root.name
        self.imports: dict[str, list[tuple[Path, Import]]] = {}
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
            self.imports.setdefault(module_name(path), []).extend(
                (path, each) for each in imports_of(path)
            )
        self.units = frozenset(self.unit(name) for name in self.imports) - UNLISTED

    def unit(self, module: str) -> str:
        """Return the folder or module directly below the package that this module belongs to."""
        return module.split(".")[1] if "." in module else "__init__"

    def resolve(self, target: str) -> str | None:
        """Return the module of this package that an imported name is in."""
        while target.partition(".")[0] == self.package:
            if target in self.imports:
                return target
            target = target.rpartition(".")[0]
        return None

    def module_graph(self) -> dict[str, set[str]]:
        """Return for each module those that it imports."""
        return {
            module: {
                found
                for _, each in imports
                if (found := self.resolve(each.target)) and found != module
            }
            for module, imports in self.imports.items()
        }

    def imported_units(self, each: Import) -> set[str]:
        """Return the units that an import reaches: of a public name, where ``__init__`` has it."""
        found = self.resolve(each.target)
        if found is None:
            return set()
        if found != self.package:
            return {self.unit(found)}
        public = [own for _, own in self.imports[self.package]]
        named = [own for own in public if each.name in {own.name, own.module.rpartition(".")[2]}]
        reached = {self.resolve(own.target) for own in named or public}
        return {self.unit(module) for module in reached if module} - {"__init__"}

    def unit_edges(self) -> Iterator[tuple[str, str, Path, Import]]:
        """Yield each import of one unit by another: both, the file and the import."""
        for module, imports in self.imports.items():
            here = self.unit(module)
            if here in UNLISTED:
                continue
            for path, each in imports:
                for there in sorted(self.imported_units(each) - {here}):
                    yield here, there, path, each

    def layers(self) -> tuple[tuple[str, ...], ...] | None:
        """Return the tiers in ``_layers.py``, or None where there is no such file."""
        path = self.root / "_layers.py"
        if not path.exists():
            return None
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign):
                target = node.targets[0]
            if target is not None and node.value and ast.unparse(target) == "LAYERS":
                tiers = ast.literal_eval(node.value)
                assert all(isinstance(tier, tuple) for tier in tiers), f"{path}: a tier is a tuple"
                return tuple(tiers)
        return None

    def violations(self) -> list[str]:
        """Return each way in which the package does not follow its LAYERS."""
        layers = self.layers()
        if layers is None:
            return [f"{self.root / '_layers.py'} with a constant LAYERS is missing"]
        listed = [name for tier in layers for name in tier]
        found = [f"{name} is in no tier" for name in sorted(self.units - set(listed))]
        found += [f"{name} does not exist" for name in sorted(set(listed) - self.units)]
        found += [
            f"{name} is listed twice" for name in sorted(set(listed)) if listed.count(name) > 1
        ]
        height = {name: number for number, tier in enumerate(layers) for name in tier}
        for here, there, path, each in self.unit_edges():
            if height.get(here, len(layers)) <= height.get(there, -1):
                where = "the same tier" if height[here] == height[there] else "a higher tier"
                found.append(f"{path}:{each.line} imports {each.target}: {there} is in {where}")
        return found


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return modules that import each other in a circle, the first one again at the end."""
    rest = {name: set(needs) for name, needs in graph.items()}
    while free := {name for name, needs in rest.items() if not needs}:
        rest = {name: needs - free for name, needs in rest.items() if name not in free}
    if not rest:
        return []
    name = min(rest)
    path: list[str] = []
    while name not in path:
        path.append(name)
        name = min(rest[name])
    return [*path[path.index(name) :], name]


def proposed_tiers(units: Iterable[str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return tiers that these imports allow; units of one circle are together in a tier."""
    needs: dict[str, set[str]] = {unit: set() for unit in units}
    for here, there in edges:
        needs[here].add(there)
    tiers = []
    while needs:
        reach = {unit: _reachable(unit, needs) for unit in needs}
        tier = [
            unit for unit in needs if all(unit in reach[other] for other in reach[unit] - {unit})
        ]
        tiers.append(sorted(tier))
        needs = {unit: seen - set(tier) for unit, seen in needs.items() if unit not in tier}
    return tiers


def _reachable(unit: str, needs: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [unit]
    while todo:
        for other in needs[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen


def main() -> None:
    """Print a package's violations and tiers that its imports allow."""
    from layout import source_of  # noqa: PLC0415  # not needed where this is imported

    imports = PackageImports(source_of(sys.argv[1]))
    print(*imports.violations(), sep="\n")  # noqa: T201
    edges = {(here, there) for here, there, _, _ in imports.unit_edges()}
    for tier in proposed_tiers(imports.units, edges):
        together = {unit for unit in tier for other in tier if (unit, other) in edges}
        print(tuple(tier), "in a circle" if together else "")  # noqa: T201


if __name__ == "__main__":
    main()
