"""Errors of a lost race, and of writes whose outcome is unknown."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l1.errors import OmniGraphError

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
    """Another writer changed the same thing first. Nothing of this call became visible."""

    kind: ClassVar[str] = "conflict"


@define(kw_only=True, slots=False)
class ExpectedVersionMismatch(Conflict):
    """A table is not at the expected version at the time of the publish."""

    kind: ClassVar[str] = "expected_version_mismatch"
    table_key: str
    expected: int
    actual: int

    def __str__(self) -> str:
        found = f"version {self.actual}" if self.actual else "no visible version"
        return (
            f"Another writer published first: expected version {self.expected} of "
            f"{self.table_key}, found {found}. Read it and try again; repo.retry does that."
        )


@define(kw_only=True, slots=False)
class OperationRepeated(Conflict):
    """Another commit with the same ``operation_hash`` was published at the same time."""

    kind: ClassVar[str] = "operation_repeated"
    operation_hash: str
    commit_id: str

    def __str__(self) -> str:
        return (
            f"The operation {self.operation_hash!r} was already done by commit {self.commit_id}. "
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
            f"The catalog refused {self.attempts} writes to {self.branch!r} although none had "
            f"been published: {self.detail}. Something else writes to __manifest; try again later."
        )


@define(kw_only=True, slots=False)
class SchemaChangeInProgress(Conflict):
    """Another program is changing the schema: nothing is published until it is done."""

    kind: ClassVar[str] = "schema_change_in_progress"
    location: str

    def __str__(self) -> str:
        return (
            f"Another program is changing the schema of {self.location} (its branch "
            "'__schema_apply_lock__' exists). Wait until it is done."
        )


@define(kw_only=True, slots=False)
class RunConflict(Conflict):
    """The target changed in a way that prevents publishing the run onto it."""

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
    """The lease was not renewed in time: a cleanup may have removed what the process needs."""

    kind: ClassVar[str] = "lease_lost"
    location: str
    seconds: float
    """How long ago the lease was last renewed."""

    def __str__(self) -> str:
        return (
            f"The lease of this handle on {self.location} was last renewed {self.seconds:.0f} "
            "seconds "
            "ago, and is gone: a cleanup may have removed what this was based on. Nothing was "
            "published. Run it again from the beginning (repo.retry does)."
        )


@define(kw_only=True, slots=False)
class OutcomeUnknown(OmniGraphError):
    """The reply to a write was lost. The write may have happened, or may still happen."""

    kind: ClassVar[str] = "outcome_unknown"
    location: str
    detail: str

    def __str__(self) -> str:
        return (
            f"It is not known whether a write to {self.location} happened: {self.detail}. When the "
            "store answers again, look for what it was to make or remove before repeating it."
        )


@define(kw_only=True, slots=False)
class CommitOutcomeUnknown(OutcomeUnknown):
    """The reply to a publish was lost: look for the commit by its id."""

    kind: ClassVar[str] = "commit_outcome_unknown"
    commit_id: str

    def __str__(self) -> str:
        return (
            f"It is not known whether commit {self.commit_id} of {self.location} happened: "
            f"{self.detail}. Nothing that it wrote was deleted. When the store answers again, ask "
            f"repo.commit({self.commit_id!r}): if it is there, it happened. An operation_hash "
            "makes it safe to just do it again."
        )


@define(kw_only=True, slots=False)
class TableContention(Conflict):
    """Others kept committing to a table's dataset, or to a ref, until the operation gave up."""

    kind: ClassVar[str] = "table_contention"
    location: str
    detail: str

    def __str__(self) -> str:
        return f"Others kept writing to {self.location} first: {self.detail} Try again."
