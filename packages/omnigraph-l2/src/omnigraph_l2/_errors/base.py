"""The base of all errors of this package."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define

__all__ = ["OmniGraphError"]


def _rebuild(cls: type[OmniGraphError], fields: dict[str, Any]) -> OmniGraphError:
    return cls(**fields)


@define(kw_only=True, slots=False)
class OmniGraphError(Exception):
    """Base of every error that omnigraph_l2 raises."""

    kind: ClassVar[str] = "omnigraph_error"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(_rebuild, type(self)), (attrs.asdict(self, recurse=False),)
