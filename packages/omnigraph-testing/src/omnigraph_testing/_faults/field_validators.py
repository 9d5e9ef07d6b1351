"""Validators for the fields of rules and effects. Each raises ``InvalidOption``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from omnigraph_testing.errors import InvalidOption

__all__ = ["a", "at_least", "more_than", "one_of", "within"]

Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def a(sort: type) -> Validator:
    """Accept instances of ``sort``."""
    return _checker(lambda value: isinstance(value, sort), f"an instance of {sort.__name__}")


def at_least(least: float) -> Validator:
    """Accept ``least`` and more."""
    return _checker(lambda value: value >= least, f"{least:g} or more")


def more_than(bound: float) -> Validator:
    """Accept what is greater than ``bound``."""
    return _checker(lambda value: value > bound, f"more than {bound:g}")


def within(least: float, most: float) -> Validator:
    """Accept what lies between the two, ends included."""
    return _checker(lambda value: least <= value <= most, f"between {least:g} and {most:g}")


def one_of(*allowed: object) -> Validator:
    """Accept one of these."""
    return _checker(lambda value: value in allowed, "one of " + ", ".join(map(repr, allowed)))


def _checker(holds: Callable[[Any], bool], expected: str) -> Validator:
    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        try:
            if holds(value):
                return
        except TypeError:
            pass
        raise InvalidOption(
            option=f"{type(instance).__name__}.{attribute.name}",
            found=repr(value),
            expected=expected,
        )

    return check
