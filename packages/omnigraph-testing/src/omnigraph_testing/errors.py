"""Every error that leaves omnigraph_testing. One base; a stable ``kind`` for each."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define

__all__ = ["InvalidOption", "OmniGraphTestingError", "ServerUnavailable"]


def _rebuild(cls: type[OmniGraphTestingError], fields: dict[str, Any]) -> OmniGraphTestingError:
    return cls(**fields)


@define(kw_only=True, slots=False)
class OmniGraphTestingError(Exception):
    """Base of every error that omnigraph_testing raises."""

    kind: ClassVar[str] = "omnigraph_testing_error"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(_rebuild, type(self)), (attrs.asdict(self, recurse=False),)


@define(kw_only=True, slots=False)
class InvalidOption(OmniGraphTestingError):
    """An option, a setting or a field of a rule has a value that makes no sense."""

    kind: ClassVar[str] = "invalid_option"
    option: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.option} cannot be {self.found}: expected {self.expected}."


@define(kw_only=True, slots=False)
class ServerUnavailable(OmniGraphTestingError):
    """A real server that a test wanted cannot be started here."""

    kind: ClassVar[str] = "server_unavailable"
    server: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"The {self.server} server cannot run here: {self.reason}. {self.remedy}"
