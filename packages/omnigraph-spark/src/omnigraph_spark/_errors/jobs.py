"""Jobs that cannot go on: a mapping that is wrong, rows that do not fit."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_spark._errors.base import OmniGraphSparkError

__all__ = ["InvalidMapping", "JobFailed", "LoadFailed", "TooManyRejects"]


@define(kw_only=True, slots=False)
class InvalidMapping(OmniGraphSparkError):
    """A mapping cannot be used, or fits neither the graph nor the files: all problems at once."""

    kind: ClassVar[str] = "invalid_mapping"
    problems: tuple[str, ...]

    def __str__(self) -> str:
        listed = "".join(f"\n  {each}" for each in self.problems)
        return f"This mapping cannot be used; no row was read:{listed}"


@define(kw_only=True, slots=False)
class TooManyRejects(OmniGraphSparkError):
    """More rows cannot become what the tables have than may be rejected."""

    kind: ClassVar[str] = "too_many_rejects"
    read: int
    rejected: int
    allowed: str
    """What max_rejects says."""
    counts: tuple[str, ...]
    """Each table with its reasons, and how many rows have each."""
    examples: tuple[str, ...]
    folder: str | None
    """Where the rows were written to."""

    def __str__(self) -> str:
        where = (
            f"They are in {self.folder}."
            if self.folder is not None
            else "They were written nowhere: say rejects=… to look at them."
        )
        such = f" Such as: {'; '.join(self.examples)}." if self.examples else ""
        return (
            f"{self.rejected} of {self.read} rows were rejected, and max_rejects is "
            f"{self.allowed}: {'; '.join(self.counts)}.{such} {where} Nothing was published. Mend "
            "the files or the mapping, or allow more."
        )


@define(kw_only=True, slots=False)
class LoadFailed(OmniGraphSparkError):
    """Spark could not do a step of a load, or what it did does not add up."""

    kind: ClassVar[str] = "load_failed"
    step: str
    table_key: str
    detail: str

    def __str__(self) -> str:
        told = f"{self.step} {self.table_key} failed: {self.detail}. Nothing was published."
        if self.step != "Reading":
            return told
        return (
            f"{told} Where it is an expression that raises, write its try_ form, or give the "
            "column itself: values that do not fit are rejected one by one."
        )


@define(kw_only=True, slots=False)
class JobFailed(OmniGraphSparkError):
    """Spark could not do a step of a job that writes files."""

    kind: ClassVar[str] = "job_failed"
    step: str
    item: str
    """The table, or the place."""
    detail: str

    def __str__(self) -> str:
        return (
            f"{self.step} {self.item} failed: {self.detail}. What was written is not whole. Mend "
            "what is named, and do it again (overwrite=True)."
        )
