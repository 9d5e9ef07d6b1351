"""What cannot be carried between a graph and Spark, and options that make no sense."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_spark._errors.base import OmniGraphSparkError

__all__ = ["InexactValue", "InvalidOptions", "OutputExists", "UnsupportedTypes"]


@define(kw_only=True, slots=False)
class InvalidOptions(OmniGraphSparkError):
    """Options of a read or a write are wrong: all problems at once."""

    kind: ClassVar[str] = "invalid_options"
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"These options cannot be used: {'; '.join(self.problems)}. Nothing was done."


@define(kw_only=True, slots=False)
class OutputExists(OmniGraphSparkError):
    """A job would write where there is something already: all such places at once."""

    kind: ClassVar[str] = "output_exists"
    paths: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"There is something already at {', '.join(self.paths)}. Nothing was written. Write "
            "somewhere else, remove it, or say that it shall be written over (overwrite=True)."
        )


@define(kw_only=True, slots=False)
class UnsupportedTypes(OmniGraphSparkError):
    """Columns of a table have types that Spark does not have: all of them at once."""

    kind: ClassVar[str] = "unsupported_types"
    table_key: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"Spark cannot hold these columns of {self.table_key}: {'; '.join(self.problems)}. "
            "Leave them out with the option 'columns', or read the table with omnigraph_l2."
        )


@define(kw_only=True, slots=False)
class InexactValue(OmniGraphSparkError):
    """A value of a column cannot be told exactly in the type that Spark has for it."""

    kind: ClassVar[str] = "inexact_value"
    table_key: str
    column: str
    found: str
    wanted: str
    detail: str

    def __str__(self) -> str:
        return (
            f"A value in {self.column!r} of {self.table_key} is {self.found}, and Spark has only "
            f"{self.wanted} for it, which cannot hold it: {self.detail}. Leave the column out with "
            "the option 'columns', or read the table with omnigraph_l2."
        )
