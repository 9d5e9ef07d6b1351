"""The base of all errors of this package."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define

__all__ = [
    "L1Error",
]


def _rebuild(cls: type[L1Error], fields: dict[str, Any]) -> L1Error:
    return cls(**fields)


@define(kw_only=True, slots=False)
class L1Error(Exception):
    """Base of every error that omnigraph_l1 raises."""

    kind: ClassVar[str] = "l1_error"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(_rebuild, type(self)), (attrs.asdict(self, recurse=False),)
