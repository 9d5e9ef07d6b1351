"""Every error that leaves omnigraph_testing. One base; a stable ``kind`` for each."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define

__all__ = [
    "Aborted",
    "InvalidHistory",
    "InvalidOption",
    "OmniGraphTestingError",
    "ServerUnavailable",
    "WorkerFailed",
]


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


@define(kw_only=True, slots=False)
class InvalidHistory(OmniGraphTestingError):
    """A history contradicts itself, or its file cannot be read. ``source`` says where it is."""

    kind: ClassVar[str] = "invalid_history"
    source: str
    detail: str

    def __str__(self) -> str:
        return f"This is no history that can be judged ({self.source}): {self.detail}."


@define(kw_only=True, slots=False)
class Aborted(OmniGraphTestingError):
    """A client of a history runner raises this when its transaction certainly had no effect.

    Every other exception means that the outcome is unknown.
    """

    kind: ClassVar[str] = "aborted"
    reason: str

    def __str__(self) -> str:
        return f"The transaction had no effect: {self.reason}."


@define(kw_only=True, slots=False)
class WorkerFailed(OmniGraphTestingError):
    """A process of a history runner died, hung or never began, and nobody had killed it."""

    kind: ClassVar[str] = "worker_failed"
    process: str
    detail: str
    journals: str

    def __str__(self) -> str:
        return (
            f"Worker {self.process} of the history runner failed: {self.detail}. "
            f"What was recorded until then is in {self.journals}."
        )
