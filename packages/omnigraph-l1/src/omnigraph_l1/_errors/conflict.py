"""Errors of lost races, and of writes whose outcome is unknown."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l1._errors.base import L1Error, branch_words
from omnigraph_l1._transaction_kinds import Resolution, TransactionKind

__all__ = [
    "CommitConflict",
    "Conflict",
    "OutcomeUnknown",
    "RefChanged",
    "RenamedVersions",
    "StaleBranch",
    "StaleDataset",
]


@define(kw_only=True, slots=False)
class Conflict(L1Error):
    """Another writer changed the same thing first. Nothing of this call became visible."""

    kind: ClassVar[str] = "conflict"


@define(kw_only=True, slots=False)
class CommitConflict(Conflict):
    """Lance refused a commit because of another commit. ``resolution`` says what helps.

    ``retry_conflicts`` does it, as often as it makes sense.
    """

    kind: ClassVar[str] = "commit_conflict"
    location: str
    branch: str | None
    operation: str
    base_version: int
    resolution: Resolution
    detail: str
    ours: TransactionKind | None = None
    """The operation that was refused. ``ours.again`` says what computing it again does."""
    theirs: TransactionKind | None = None
    """The operation that came first; None if Lance does not name it."""
    their_version: int | None = None
    """The version that it made."""
    attempts: int = 1
    """How often it was tried."""

    @property
    def retryable(self) -> bool:
        """Whether the same change, computed again on the newest version, can succeed."""
        return self.resolution is Resolution.RETRYABLE

    def __str__(self) -> str:
        met = "another commit" if self.theirs is None else f"a commit of kind {self.theirs.value}"
        where = "" if self.their_version is None else f" in version {self.their_version}"
        tried = "" if self.attempts == 1 else f" It was tried {self.attempts} times."
        again = "" if self.ours is None else f" Computed again, it {self.ours.again}."
        return (
            f"The {self.operation} on {self.location} ({branch_words(self.branch)}), based on "
            f"version {self.base_version}, met {met}{where}: {self.detail}.{tried} "
            f"{self.resolution.advice}{again}"
        )


@define(kw_only=True, slots=False)
class RefChanged(Conflict):
    """The ref is no longer what was read. ``found`` is the write id that stands there now."""

    kind: ClassVar[str] = "ref_changed"
    location: str
    name: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"Ref {self.name!r} in {self.location} was changed by another writer: expected write "
            f"{self.expected}, found {self.found}. Read it again and decide again."
        )


@define(kw_only=True, slots=False)
class StaleBranch(Conflict):
    """The handle's branch was deleted, and perhaps created again, since it was opened."""

    kind: ClassVar[str] = "stale_branch"
    location: str
    branch: str
    reason: str

    def __str__(self) -> str:
        return (
            f"This handle on branch {self.branch!r} of {self.location} must not write: the branch "
            f"{self.reason}. Open the branch again."
        )


@define(kw_only=True, slots=False)
class StaleDataset(Conflict):
    """The handle's dataset was deleted and another is in its place, or it lost versions."""

    kind: ClassVar[str] = "stale_dataset"
    location: str
    version: int

    def __str__(self) -> str:
        return (
            f"This handle on version {self.version} of {self.location} must not be used any more: "
            "the dataset was deleted, and another one is in its place. Open it again, and check "
            "that it is the one you mean."
        )


@define(kw_only=True, slots=False)
class RenamedVersions(Conflict):
    """The version files were renamed since the handle was opened, and it knows the old names."""

    kind: ClassVar[str] = "renamed_versions"
    location: str
    version: int

    def __str__(self) -> str:
        return (
            f"This handle on version {self.version} of {self.location} must not write: the version "
            "files were renamed since it was opened, and Lance would go on under the old names. "
            "Open it again."
        )


@define(kw_only=True, slots=False)
class OutcomeUnknown(L1Error):
    """The reply to a write was lost, and so was the attempt to look. It may have happened.

    ``write_id`` is the id that the write carries: where it is found, the write happened.
    """

    kind: ClassVar[str] = "outcome_unknown"
    location: str
    write_id: str
    detail: str

    def __str__(self) -> str:
        return (
            f"It is not known whether write {self.write_id} to {self.location} happened: "
            f"{self.detail}. When the store answers again, look for that id before repeating it."
        )
