"""Sending a client factory to a fresh process, also from a test module that has no importable name.

pytest's ``importlib`` mode gives test modules names that another process cannot import. So the file
of the factory's module travels along, and is loaded under the same name where need be.
Not its business: what the factory makes.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import frozen

from omnigraph_testing.errors import InvalidOption

__all__ = ["Parcel", "pack"]


@frozen
class Parcel:
    """A pickled callable, and the module that it needs."""

    pickled: bytes
    module: str
    file: str | None

    def unpack(self) -> Any:
        """Load the module by its file if it cannot be had by its name, then the callable."""
        if self.file and self.module not in sys.modules and not _importable(self.module):
            spec = importlib.util.spec_from_file_location(self.module, self.file)
            if spec and spec.loader:
                module = importlib.util.module_from_spec(spec)
                sys.modules[self.module] = module
                spec.loader.exec_module(module)
        return pickle.loads(self.pickled)  # noqa: S301  # it comes from the process that began us


def pack(factory: Callable[..., Any]) -> Parcel:
    """Make ready to travel: a function or class of a module, or a ``partial`` of one."""
    core = factory.func if isinstance(factory, partial) else factory
    if not hasattr(core, "__qualname__"):
        core = type(core)
    name = core.__module__
    try:
        pickled = pickle.dumps(factory)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidOption(
            option="the client factory",
            found=f"{factory!r}, which cannot be pickled ({error})",
            expected="a function or class at the top of a module, or a partial of one",
        ) from error
    return Parcel(pickled, name, getattr(sys.modules.get(name), "__file__", None))


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
