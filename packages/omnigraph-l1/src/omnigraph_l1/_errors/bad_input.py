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
    "InvalidLocation",
    "InvalidName",
    "InvalidRequest",
    "InvalidStorageOptions",
    "WrongVersionStore",
]


@define(kw_only=True, slots=False)
class BadInput(L1Error):
    """The call cannot be carried out as it is. Nothing was changed."""

    kind: ClassVar[str] = "bad_input"


@define(kw_only=True, slots=False)
class InvalidLocation(BadInput):
    """The text does not name a location that this package can reach."""

    kind: ClassVar[str] = "invalid_location"
    expected: ClassVar[str] = (
        "Expected a path, or a URI that starts with file://, s3://, gs:// or az://."
    )
    location: str
    reason: str

    def __str__(self) -> str:
        return f"Invalid location {self.location!r}: {self.reason}. {self.expected}"


@define(kw_only=True, slots=False)
class InvalidStorageOptions(BadInput):
    """An option of the store is missing or makes no sense. ``option`` is its name."""

    kind: ClassVar[str] = "invalid_storage_options"
    location: str
    option: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"Cannot reach {self.location}: option {self.option!r} {self.reason}. {self.remedy}"


@define(kw_only=True, slots=False)
class InvalidName(BadInput):
    """A name (of a branch, a tag, a ref, a table key) breaks the rule for such names."""

    kind: ClassVar[str] = "invalid_name"
    what: str
    name: str
    rule: str

    def __str__(self) -> str:
        return f"Invalid {self.what} name {self.name!r}: {self.rule}."


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
    location: str
    problems: tuple[DataProblem, ...]

    def __str__(self) -> str:
        listed = "; ".join(str(problem) for problem in self.problems)
        return f"Invalid data for the table at {self.location}: {listed}. Nothing was written."


@define(kw_only=True, slots=False)
class InvalidRequest(BadInput):
    """An argument is invalid, or Lance cannot do what is requested; ``reason`` says why."""

    kind: ClassVar[str] = "invalid_request"
    location: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.reason[:1].upper()}{self.reason[1:]}. Nothing was changed in {self.location}."
        )


@define(kw_only=True, slots=False)
class InvalidFilter(BadInput):
    """A filter is not an expression that can be evaluated on this table."""

    kind: ClassVar[str] = "invalid_filter"
    location: str
    filter: str
    reason: str

    def __str__(self) -> str:
        return f"Invalid filter {self.filter!r} for {self.location}: {self.reason}."


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
    """The dataset's versions are decided by another version store than the one used to open it.

    ``expected`` is the id of that store, None if the location itself decides; ``found`` is the
    store that was used, None if there was none.
    """

    kind: ClassVar[str] = "wrong_version_store"
    location: str
    expected: str | None
    found: str | None

    def __str__(self) -> str:
        used = "none" if self.found is None else self.found
        if self.expected is None:
            remedy = "Open it by s3:// instead"
        else:
            remedy = "Open it by the s3+ddb:// URI that it was created with"
        wanted = "none" if self.expected is None else repr(self.expected)
        return (
            f"Wrong version store for {self.location}: expected {wanted}, found {used}. "
            f"Nothing was written. {remedy}."
        )
