"""The bases of all errors, of OmniGraph and of this package, and words that messages share."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define

__all__ = ["L1Error", "OmniGraphError", "branch_words"]


def _rebuild(cls: type[OmniGraphError], fields: dict[str, Any]) -> OmniGraphError:
    return cls(**fields)


@define(kw_only=True, slots=False)
class OmniGraphError(Exception):
    """Base of every error that a distribution of OmniGraph raises."""

    kind: ClassVar[str] = "omnigraph_error"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(_rebuild, type(self)), (attrs.asdict(self, recurse=False),)


@define(kw_only=True, slots=False)
class L1Error(OmniGraphError):
    """Base of every error that omnigraph_l1 raises."""

    kind: ClassVar[str] = "l1_error"


def branch_words(branch: str | None) -> str:
    """Return the name of a lineage in messages."""
    return "main" if branch is None else f"branch {branch!r}"
