"""Somebody else was first, or nobody knows who was."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l2._errors.base import OmniGraphError

__all__ = [
    "CommitOutcomeUnknown",
    "Conflict",
    "ExpectedVersionMismatch",
    "LeaseLost",
    "OperationRepeated",
    "OutcomeUnknown",
    "PublishConflict",
    "RowLevelCasContention",
    "RunConflict",
    "SchemaChangeInProgress",
    "TableContention",
]


@define(kw_only=True, slots=False)
class Conflict(OmniGraphError):
    """Somebody else changed the same thing first. Nothing of this call became visible."""

    kind: ClassVar[str] = "conflict"


@define(kw_only=True, slots=False)
class ExpectedVersionMismatch(Conflict):
    """A table is not at the version that was expected, at the moment of the publish."""

    kind: ClassVar[str] = "expected_version_mismatch"
    table_key: str
    expected: int
    actual: int

    def __str__(self) -> str:
        found = "was dropped there" if self.actual == self.expected else f"is at {self.actual}"
        return (
            f"{self.table_key} should have been at version {self.expected}, but {found}: somebody "
            "published first. Read it again and decide anew; repo.retry does that."
        )


@define(kw_only=True, slots=False)
class OperationRepeated(Conflict):
    """Another commit with the same ``operation_hash`` was published at the same time."""

    kind: ClassVar[str] = "operation_repeated"
    operation_hash: str
    commit_id: str

    def __str__(self) -> str:
        return (
            f"The operation {self.operation_hash!r} was done by commit {self.commit_id} meanwhile. "
            "Nothing was done twice; look at that commit."
        )


@define(kw_only=True, slots=False)
class PublishConflict(Conflict):
    """Others published first, again and again, until the time-out."""

    kind: ClassVar[str] = "publish_conflict"
    branch: str
    attempts: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"Others published to {self.branch!r} first, {self.attempts} times in "
            f"{self.seconds:.1f} s. Try again, or with fewer writers."
        )


@define(kw_only=True, slots=False)
class RowLevelCasContention(Conflict):
    """The catalog refused the write although no publish of others explains it."""

    kind: ClassVar[str] = "row_level_cas_contention"
    branch: str
    attempts: int
    detail: str

    def __str__(self) -> str:
        return (
            f"The catalog refused {self.attempts} writes to {self.branch!r} although nobody had "
            f"published: {self.detail}. Something else writes to __manifest; try again later."
        )


@define(kw_only=True, slots=False)
class SchemaChangeInProgress(Conflict):
    """The original program is changing the schema. Nobody publishes meanwhile."""

    kind: ClassVar[str] = "schema_change_in_progress"
    place: str

    def __str__(self) -> str:
        return (
            f"Another program is changing the schema of {self.place} (its branch "
            "'__schema_apply_lock__' exists). Wait until it is done."
        )


@define(kw_only=True, slots=False)
class RunConflict(Conflict):
    """The target moved in a way that the run cannot be put on top of."""

    kind: ClassVar[str] = "run_conflict"
    run_id: str
    target: str
    tables: tuple[str, ...]
    """The tables that the run read or wrote, and that changed since on the target."""

    def __str__(self) -> str:
        return (
            f"Run {self.run_id} cannot be published to {self.target!r}: {', '.join(self.tables)} "
            "changed there since the run began. Abort it and run again."
        )


@define(kw_only=True, slots=False)
class LeaseLost(Conflict):
    """The process was not heard of for so long that a cleanup may have taken what it needs."""

    kind: ClassVar[str] = "lease_lost"
    place: str
    seconds: float
    """How long ago the lease was last renewed."""

    def __str__(self) -> str:
        return (
            f"The lease of this handle on {self.place} was last renewed {self.seconds:.0f} seconds "
            "ago, and is gone: a cleanup may have removed what this was based on. Nothing was "
            "published. Run it again from the beginning (repo.retry does)."
        )


@define(kw_only=True, slots=False)
class OutcomeUnknown(OmniGraphError):
    """The reply to a write was lost. It may have happened, or may happen yet."""

    kind: ClassVar[str] = "outcome_unknown"
    place: str
    detail: str

    def __str__(self) -> str:
        return (
            f"It is not known whether a write to {self.place} happened: {self.detail}. When the "
            "store answers again, look for what it was to make or remove before repeating it."
        )


@define(kw_only=True, slots=False)
class CommitOutcomeUnknown(OutcomeUnknown):
    """The same, of a publish: the commit is known by its id."""

    kind: ClassVar[str] = "commit_outcome_unknown"
    commit_id: str

    def __str__(self) -> str:
        return (
            f"It is not known whether commit {self.commit_id} of {self.place} happened: "
            f"{self.detail}. Nothing that it wrote was deleted. When the store answers again, ask "
            f"repo.commit({self.commit_id!r}): if it is there, it happened. An operation_hash "
            "makes it safe to just do it again."
        )


@define(kw_only=True, slots=False)
class TableContention(Conflict):
    """Others kept committing to the dataset of a table, or to a ref, while this was tried."""

    kind: ClassVar[str] = "table_contention"
    place: str
    detail: str

    def __str__(self) -> str:
        return f"Others kept writing to {self.place} first: {self.detail} Try again."
