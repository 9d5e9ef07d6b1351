"""One clear error where a module of the extra ``[graph]`` is not installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from omnigraph_testing.errors import MissingExtra

__all__ = ["needs_graph"]

_MODULES = frozenset({"lance", "omnigraph_l1", "omnigraph_l2", "pyarrow"})


@contextlib.contextmanager
def needs_graph(feature: str) -> Iterator[None]:
    """Raise ``MissingExtra`` if the block imports a module of the extra that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in _MODULES:
            raise
        raise MissingExtra(feature=feature, module=error.name, extra="graph") from None
