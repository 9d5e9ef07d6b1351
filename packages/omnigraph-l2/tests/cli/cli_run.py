"""The result of a command, as the fixtures of this folder return it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

__all__ = ["CommandResult", "RunCommand"]


@attrs.frozen
class CommandResult:
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


RunCommand: TypeAlias = Callable[..., CommandResult]
