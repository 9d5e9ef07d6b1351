"""The public names of each package: adding or losing one is a decision, made here."""

from __future__ import annotations

import importlib
import inspect

import pytest
from layout import PACKAGES

PUBLIC: dict[str, set[str]] = {}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_front_door_shows_exactly_these_names(package: str) -> None:
    """Others rely on each of these names; nothing else is promised."""
    assert set(importlib.import_module(package).__all__) == PUBLIC[package]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_front_door_is_sorted_and_whole(package: str) -> None:
    """``__all__`` has each name once, and each is there."""
    door = importlib.import_module(package)
    assert len(door.__all__) == len(set(door.__all__))
    assert all(hasattr(door, name) for name in door.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_thing_says_what_it_is(package: str) -> None:
    """Each public class and function has a docstring, and so have its public methods."""
    door = importlib.import_module(package)
    for name in door.__all__:
        thing = getattr(door, name)
        if not (inspect.isclass(thing) or inspect.isroutine(thing)):
            continue
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and inspect.isroutine(value):
                    assert inspect.getdoc(value), f"{name}.{member}"
