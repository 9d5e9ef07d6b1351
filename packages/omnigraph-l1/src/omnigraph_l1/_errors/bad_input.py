"""The call is wrong: nothing was changed, and it will fail again until it is changed."""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs import define

from omnigraph_l1._errors.base import L1Error

__all__ = [
    "BadInput",
    "DataProblem",
    "FailpointMisuse",
    "InvalidData",
    "InvalidFilter",
    "InvalidName",
    "InvalidPlace",
    "InvalidRequest",
    "InvalidStorageOptions",
    "WrongVersionStore",
]


@define(kw_only=True, slots=False)
class BadInput(L1Error):
    """The call cannot be carried out as it is. Nothing was changed."""

    kind: ClassVar[str] = "bad_input"


@define(kw_only=True, slots=False)
class InvalidPlace(BadInput):
    """The text does not name a place that this package can reach."""

    kind: ClassVar[str] = "invalid_place"
    place: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.place!r} is not a place for data: {self.reason}. Give a path, or a URI that "
            "starts with file://, s3://, gs:// or az://."
        )


@define(kw_only=True, slots=False)
class InvalidStorageOptions(BadInput):
    """An option of the store is missing or makes no sense. ``option`` is its name."""

    kind: ClassVar[str] = "invalid_storage_options"
    place: str
    option: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"Cannot reach {self.place}: option {self.option!r} {self.reason}. {self.remedy}"


@define(kw_only=True, slots=False)
class InvalidName(BadInput):
    """A name (of a branch, a tag, a ref, a table key) breaks the rule for such names."""

    kind: ClassVar[str] = "invalid_name"
    what: str
    name: str
    rule: str

    def __str__(self) -> str:
        return f"{self.name!r} cannot be the name of a {self.what}: {self.rule}."


@attrs.frozen
class DataProblem:
    """One thing that is wrong with data: the column, and what is the matter with it."""

    column: str
    problem: str

    def __str__(self) -> str:
        return f"{self.column}: {self.problem}"


@define(kw_only=True, slots=False)
class InvalidData(BadInput):
    """The data does not fit the table. ``problems`` has all of them, not only the first."""

    kind: ClassVar[str] = "invalid_data"
    place: str
    problems: tuple[DataProblem, ...]

    def __str__(self) -> str:
        listed = "; ".join(str(problem) for problem in self.problems)
        return f"The data does not fit the table at {self.place}: {listed}. Nothing was written."


@define(kw_only=True, slots=False)
class InvalidRequest(BadInput):
    """Lance cannot do what was asked of it, for the reason that it gives."""

    kind: ClassVar[str] = "invalid_request"
    place: str
    reason: str

    def __str__(self) -> str:
        return f"This cannot be done on {self.place}: {self.reason}. Nothing was changed."


@define(kw_only=True, slots=False)
class InvalidFilter(BadInput):
    """A filter is not an expression that can be evaluated on this table."""

    kind: ClassVar[str] = "invalid_filter"
    place: str
    filter: str
    reason: str

    def __str__(self) -> str:
        return f"The filter {self.filter!r} cannot be used on {self.place}: {self.reason}."


@define(kw_only=True, slots=False)
class FailpointMisuse(BadInput):
    """A failpoint is misspelt, was never declared, or is declared twice. For tests only."""

    kind: ClassVar[str] = "failpoint_misuse"
    name: str
    reason: str

    def __str__(self) -> str:
        return (
            f"Failpoint {self.name!r}: {self.reason}. Each point is declared once, in the module "
            "that passes it, under the very name that is used there."
        )


@define(kw_only=True, slots=False)
class WrongVersionStore(BadInput):
    """A dataset would be written with another version store than the one that decides it.

    ``expected`` is the id of that one, None where the place decides by itself; ``found`` is the
    store that was given, None where none was.
    """

    kind: ClassVar[str] = "wrong_version_store"
    place: str
    expected: str | None
    found: str | None

    def __str__(self) -> str:
        given = "none was given" if self.found is None else f"{self.found} was given"
        if self.expected is None:
            told, remedy = "decides its versions by itself", "leave the option out"
        else:
            told = f"has its versions decided by the version store {self.expected}"
            remedy = "give that one, by the option 'version_store'"
        return f"{self.place} {told}, and {given}. Nothing was written: {remedy}."
