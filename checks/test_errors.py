"""Every error keeps its promises: one base, a stable kind, typed attributes, picklable."""

from __future__ import annotations

import importlib
import pickle
import re
from typing import Any, get_type_hints

import attrs
import pytest
from layout import PACKAGES, ROOT

_BASES = {
    "omnigraph_l1": "L1Error",
    "omnigraph_l2": "OmniGraphError",
    "omnigraph_spark": "OmniGraphSparkError",
    "omnigraph_testing": "OmniGraphTestingError",
}


def _errors(package: str) -> list[type[Exception]]:
    module = importlib.import_module(f"{package}.errors")
    names = set(module.__all__) - ({"OmniGraphError"} if package == "omnigraph_l1" else set())
    found = [getattr(module, name) for name in sorted(names)]
    return [thing for thing in found if isinstance(thing, type) and issubclass(thing, Exception)]


def _example(kind: Any) -> Any:
    module = importlib.import_module(type(kind).__module__)
    del module
    origin = getattr(kind, "__origin__", kind)
    if origin is tuple:
        return ()
    if hasattr(kind, "__members__"):
        return next(iter(kind))
    return {str: "text", int: 3, bool: False, float: 0.5}.get(kind)


@pytest.mark.parametrize("package", PACKAGES)
def test_errors_have_one_base_and_kinds_of_their_own(package: str) -> None:
    """A handler can catch all of a package, and distinguish them without reading messages."""
    errors = _errors(package)
    base = getattr(importlib.import_module(f"{package}.errors"), _BASES[package])
    kinds = [error.kind for error in errors]
    assert all(issubclass(error, base) for error in errors)
    assert len(kinds) == len(set(kinds))
    assert all(kind == kind.lower() and " " not in kind for kind in kinds)


@pytest.mark.parametrize("package", PACKAGES)
def test_errors_survive_the_way_to_another_process(package: str) -> None:
    """Type, attributes and message are the same after pickling."""
    for error in _errors(package):
        hints = get_type_hints(error)
        fields = attrs.fields(error) if attrs.has(error) else ()
        made = error(**{field.name: _example(hints[field.name]) for field in fields})
        back = pickle.loads(pickle.dumps(made))
        assert type(back) is error
        assert str(back) == str(made)
        for field in fields:
            assert getattr(back, field.name) == getattr(made, field.name)


@pytest.mark.parametrize("package", ["omnigraph_l1", "omnigraph_l2", "omnigraph_spark"])
def test_each_error_has_an_entry_that_says_what_to_do(package: str) -> None:
    """docs/errors.md names every class of a package, in its part, and none that is not there."""
    text = (ROOT / "docs" / "errors.md").read_text()
    _, _, part = text.partition(f"\n## {package}\n")
    part = re.split(r"^## ", part, flags=re.MULTILINE)[0]
    names = {error.__name__ for error in _errors(package)}
    assert {name for name in names if f"`{name}`" not in part and f".{name}`" not in part} == set()
    first_cells = "".join(re.findall(r"^\| (`[^|]*) \|", part, flags=re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first_cells)) <= names
