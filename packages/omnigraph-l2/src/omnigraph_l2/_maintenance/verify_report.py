"""The findings of ``repo.verify`` and the counts of what was checked. Pure.

Invariant: the kind of a finding is a stable word that programs compare. An error already affects
users; a warning will affect them later; information is an incomplete write of a dead process, which
the next writer completes.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import attrs

from omnigraph_l1.errors import MovedDataset
from omnigraph_l2.errors import OmniGraphError, StorageError

__all__ = ["Collector", "Finding", "Severity", "VerifyReport"]


class Severity(enum.Enum):
    """How bad a finding is."""

    ERROR = "error"
    """Something cannot be read, or what is read is not what the format promises."""
    WARNING = "warning"
    """Nothing is wrong for readers; it should be mended all the same."""
    INFO = "info"
    """Left by a writer that died, or about to be done by one that lives."""


_ORDER = list(Severity)


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that is not as it should be."""

    severity: Severity
    kind: str
    """A word that never changes: see docs/operations.md."""
    subject: str
    """What is meant: a row, a branch, a table at a version."""
    detail: str
    """What was expected, and what was found."""
    remedy: str
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.kind}: {self.subject}: {self.detail} ({self.remedy})"


@attrs.frozen(kw_only=True)
class VerifyReport:
    """What ``repo.verify`` found. Print it."""

    location: str
    findings: tuple[Finding, ...]
    """The worst first."""
    checked: Mapping[str, int]
    """How many things of each sort were looked at."""

    @property
    def ok(self) -> bool:
        """Whether there is neither an error nor a warning."""
        return all(each.severity is Severity.INFO for each in self.findings)

    def __str__(self) -> str:
        looked = ", ".join(f"{count} {what}" for what, count in self.checked.items())
        counts = Counter(each.severity for each in self.findings)
        found = ", ".join(f"{counts[each]} {each.value}" for each in _ORDER if counts[each])
        head = f"{self.location}: {found or 'nothing wrong'}. Looked at {looked}."
        return "\n".join([head, *map(str, self.findings)])


class Collector:
    """Collects findings, and counts what was checked."""

    def __init__(self) -> None:
        self._findings: dict[Finding, None] = {}
        self._checked: Counter[str] = Counter()
        self.store_failure: StorageError | None = None
        """How the store failed last; a finding, but nothing is damaged."""

    def add(self, severity: Severity, kind: str, subject: str, detail: str, remedy: str) -> None:
        """Take a finding."""
        found = Finding(severity=severity, kind=kind, subject=subject, detail=detail, remedy=remedy)
        self._findings[found] = None

    def error(self, kind: str, subject: str, detail: str, remedy: str) -> None:
        """Take an error."""
        self.add(Severity.ERROR, kind, subject, detail, remedy)

    def count(self, what: str, number: int = 1) -> None:
        """Count checked things."""
        self._checked[what] += number

    @contextmanager
    def guard(self, kind: str, subject: str, remedy: str) -> Iterator[None]:
        """Make a finding of what fails inside, and go on after it."""
        try:
            yield
        except MovedDataset as error:
            self.error("moved", subject, str(error), "use it where it was, or on main only")
        except OmniGraphError as error:
            if isinstance(error, StorageError):
                self.store_failure = error
            self.error(kind, subject, str(error), remedy)

    def take(self, other: Collector) -> None:
        """Take all that another one has."""
        self._checked.update(other._checked)
        self._findings |= other._findings
        self.store_failure = other.store_failure or self.store_failure

    @property
    def has_errors(self) -> bool:
        """Whether there is an error among the findings."""
        return any(each.severity is Severity.ERROR for each in self._findings)

    @property
    def found(self) -> frozenset[str]:
        """The kinds of the findings."""
        return frozenset(each.kind for each in self._findings)

    def report(self, location: str) -> VerifyReport:
        """Return the report."""
        return VerifyReport(
            location=location,
            findings=tuple(sorted(self._findings, key=lambda each: _ORDER.index(each.severity))),
            checked=MappingProxyType(dict(sorted(self._checked.items()))),
        )
