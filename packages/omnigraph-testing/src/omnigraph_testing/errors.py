"""Every error that leaves omnigraph_testing. One base; a stable ``kind`` for each."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define

__all__ = [
    "Aborted",
    "BudgetExceeded",
    "CrashDeadline",
    "EndlessPredicate",
    "GatewayFailed",
    "InvalidHistory",
    "InvalidOption",
    "MissingExtra",
    "NeverKilled",
    "NothingHeld",
    "OmniGraphTestingError",
    "ServerUnavailable",
    "UnexpectedEnding",
    "UnusableFunction",
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
class MissingExtra(OmniGraphTestingError, ImportError):
    """A feature needs a module that an extra of omnigraph-testing installs."""

    kind: ClassVar[str] = "missing_extra"
    feature: str
    module: str
    extra: str

    def __str__(self) -> str:
        return (
            f"{self.feature} needs {self.module}, which is not installed. "
            f"Run: pip install 'omnigraph-testing[{self.extra}]'"
        )


@define(kw_only=True, slots=False)
class ServerUnavailable(OmniGraphTestingError):
    """A server that a test uses cannot be started here, or cannot be reached."""

    kind: ClassVar[str] = "server_unavailable"
    server: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"The server {self.server} is unavailable: {self.reason}. {self.remedy}"


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
    """A process of a history runner died, hung or never began, and the runner had not killed it."""

    kind: ClassVar[str] = "worker_failed"
    process: str
    detail: str
    journals: str

    def __str__(self) -> str:
        return (
            f"Worker {self.process} of the history runner failed: {self.detail}. "
            f"What was recorded until then is in {self.journals}."
        )


@define(kw_only=True, slots=False)
class NothingHeld(OmniGraphTestingError):
    """A test waited for a request to be held, and too few came."""

    kind: ClassVar[str] = "nothing_held"
    expected: int
    found: int
    timeout_seconds: float

    def __str__(self) -> str:
        return (
            f"Expected {self.expected} held requests within {self.timeout_seconds:g} s, found "
            f"{self.found}. Look at the requests that came, and at the rule's method and key."
        )


@define(kw_only=True, slots=False)
class EndlessPredicate(OmniGraphTestingError):
    """A rule's predicate asks the store that it is about, about which it is asked, and so on."""

    kind: ClassVar[str] = "endless_predicate"
    operation: str
    depth: int

    def __str__(self) -> str:
        return (
            f"A rule's predicate was asked about {self.operation} while {self.depth} calls of it "
            "had not ended: what it asks of the store is put to it in turn. Let it ask `direct`, "
            "the store behind the faults, or give the rule a method or key that leaves out what "
            "it asks."
        )


@define(kw_only=True, slots=False)
class GatewayFailed(OmniGraphTestingError):
    """A rule's predicate raised, or the gateway did: what it served until then proves nothing."""

    kind: ClassVar[str] = "gateway_failed"
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"The gateway could not carry out requests: {'; '.join(self.reasons)}."


@define(kw_only=True, slots=False)
class BudgetExceeded(OmniGraphTestingError, AssertionError):
    """A block of code asked more of a store than it may. ``requests`` lists what it asked."""

    kind: ClassVar[str] = "budget_exceeded"
    over: tuple[str, ...]
    requests: tuple[str, ...]

    def __str__(self) -> str:
        listed = "".join(f"\n  {each}" for each in self.requests)
        return f"Too much was asked of the store: {'; '.join(self.over)}. The requests:{listed}"


@define(kw_only=True, slots=False)
class UnusableFunction(OmniGraphTestingError):
    """A function cannot be run in another process."""

    kind: ClassVar[str] = "unusable_function"
    function: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.function} cannot be run in a process of its own: {self.reason}. Give a "
            "function of a module's top level, with arguments that can be pickled."
        )


@define(kw_only=True, slots=False)
class CrashDeadline(OmniGraphTestingError):
    """A process did not end in time. It was killed."""

    kind: ClassVar[str] = "crash_deadline"
    what: str
    seconds: float
    passed: tuple[str, ...]
    stderr: str

    def __str__(self) -> str:
        last = self.passed[-1] if self.passed else "none"
        return (
            f"{self.what} did not end within {self.seconds:g} s and was killed; the last point it "
            f"passed: {last}. Give a longer deadline= if it needs more. Its stderr ends:\n"
            f"{self.stderr[-2000:]}"
        )


@define(kw_only=True, slots=False)
class NeverKilled(OmniGraphTestingError):
    """A process ended by itself before it came to the point where it should have been killed."""

    kind: ClassVar[str] = "never_killed"
    what: str
    point: str
    passed: tuple[str, ...]
    detail: str

    def __str__(self) -> str:
        passed = ", ".join(self.passed) or "none"
        return (
            f"{self.what} should have been killed {self.point}, but never came there: "
            f"{self.detail}. Points it passed: {passed}."
        )


@define(kw_only=True, slots=False)
class UnexpectedEnding(OmniGraphTestingError):
    """A process that should have finished did not. ``detail`` is its traceback or its stderr."""

    kind: ClassVar[str] = "unexpected_ending"
    what: str
    ending: str
    detail: str

    def __str__(self) -> str:
        return f"{self.what} should have finished, but it {self.ending}:\n{self.detail}"
