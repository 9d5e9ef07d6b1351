"""Send a client factory to a fresh process, also from a test module without an importable name."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

from attrs import frozen

from omnigraph_testing._test_modules import FilesOfTests, modules_of_tests
from omnigraph_testing.errors import InvalidOption

__all__ = ["Parcel", "pack"]


@frozen
class Parcel:
    """A pickled callable, and the test modules that it may need."""

    pickled: bytes
    modules: dict[str, dict[str, Any]]

    def unpack(self) -> Any:
        """Load the callable, and the test modules that it needs."""
        sys.meta_path.insert(0, FilesOfTests(self.modules))
        return pickle.loads(self.pickled)  # noqa: S301  # it comes from the process that began us


def pack(factory: Callable[..., Any]) -> Parcel:
    """Make ready to travel: a function or class of a module, or a ``partial`` of one."""
    try:
        pickled = pickle.dumps(factory)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidOption(
            option="the client factory",
            found=f"{factory!r}, which cannot be pickled ({error})",
            expected="a function or class at the top of a module, or a partial of one",
        ) from error
    return Parcel(pickled, modules_of_tests())
