"""Every error that leaves omnigraph_l1, grouped by what its handler does.

* ``BadInput``: the call is wrong; change the call.
* ``NotFound``, ``AlreadyExists``: the named thing is (not) there; choose another, or make it.
* ``Conflict``: somebody else was first; look again, then perhaps try again.
* ``OutcomeUnknown``: the reply was lost; look for the id before doing it again.
* ``StorageError``: the store did not do it; mend the store, the credentials or the disk.
* ``CorruptDataset``, ``UsedAfterFork``: stop, a person is needed.

Always: each class derives from ``L1Error``, carries typed attributes, keeps its ``kind`` for
ever, survives pickling, and says what was expected, what was found and what to do. No message
contains a secret. What Lance or obstore raised is chained as ``__cause__``.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import attrs
from attrs import define

from omnigraph_l1._resolution import Resolution

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "BadInput",
    "BranchExists",
    "CommitConflict",
    "Conflict",
    "CorruptDataset",
    "CorruptRef",
    "DataProblem",
    "DatasetExists",
    "DatasetNotFound",
    "FailpointMisuse",
    "InvalidData",
    "InvalidFilter",
    "InvalidName",
    "InvalidPlace",
    "InvalidRequest",
    "InvalidStorageOptions",
    "L1Error",
    "MovedDataset",
    "NotADataset",
    "NotFound",
    "OutcomeUnknown",
    "RefChanged",
    "RefExists",
    "RefNotFound",
    "StaleBranch",
    "StorageError",
    "StorageFull",
    "StoreUnavailable",
    "TagExists",
    "UnknownBranch",
    "UnknownTag",
    "UnknownVersion",
    "UnsafeStore",
    "UsedAfterFork",
]


def _rebuild(cls: type[L1Error], fields: dict[str, Any]) -> L1Error:
    return cls(**fields)


@define(kw_only=True, slots=False)
class L1Error(Exception):
    """Base of every error that omnigraph_l1 raises."""

    kind: ClassVar[str] = "l1_error"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(_rebuild, type(self)), (attrs.asdict(self, recurse=False),)


# --- the call is wrong ------------------------------------------------------------------


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


# --- it is not there --------------------------------------------------------------------


@define(kw_only=True, slots=False)
class NotFound(L1Error):
    """What was named is not there."""

    kind: ClassVar[str] = "not_found"


@define(kw_only=True, slots=False)
class DatasetNotFound(NotFound):
    """There is no dataset at the place."""

    kind: ClassVar[str] = "dataset_not_found"
    place: str

    def __str__(self) -> str:
        return f"There is no dataset at {self.place}. Check the place, or create the dataset there."


@define(kw_only=True, slots=False)
class NotADataset(NotFound):
    """The place holds something, but not a Lance dataset."""

    kind: ClassVar[str] = "not_a_dataset"
    place: str
    found: str

    def __str__(self) -> str:
        return f"{self.place} is not a Lance dataset: found {self.found}. Check the place."


@define(kw_only=True, slots=False)
class UnknownVersion(NotFound):
    """The version was never written, or was cleaned away."""

    kind: ClassVar[str] = "unknown_version"
    place: str
    branch: str | None
    version: int

    def __str__(self) -> str:
        return (
            f"Version {self.version} of {self.place} on {_branch(self.branch)} is not there: it "
            "was never written or has been cleaned up. List the versions that are left."
        )


@define(kw_only=True, slots=False)
class UnknownBranch(NotFound):
    """The dataset has no native branch of that name."""

    kind: ClassVar[str] = "unknown_branch"
    place: str
    branch: str

    def __str__(self) -> str:
        return f"{self.place} has no branch {self.branch!r}. List its branches."


@define(kw_only=True, slots=False)
class UnknownTag(NotFound):
    """The dataset has no native tag of that name."""

    kind: ClassVar[str] = "unknown_tag"
    place: str
    tag: str

    def __str__(self) -> str:
        return f"{self.place} has no tag {self.tag!r}. List its tags."


@define(kw_only=True, slots=False)
class RefNotFound(NotFound):
    """The ref that should be replaced or deleted is gone."""

    kind: ClassVar[str] = "ref_not_found"
    place: str
    name: str

    def __str__(self) -> str:
        return f"There is no ref {self.name!r} in {self.place}. Read it again before changing it."


# --- it is there already ----------------------------------------------------------------


@define(kw_only=True, slots=False)
class AlreadyExists(L1Error):
    """What should be created is there already. It was left as it is."""

    kind: ClassVar[str] = "already_exists"


@define(kw_only=True, slots=False)
class DatasetExists(AlreadyExists):
    """A dataset is at the place already."""

    kind: ClassVar[str] = "dataset_exists"
    place: str

    def __str__(self) -> str:
        return f"There is a dataset at {self.place} already. Open it, or choose another place."


@define(kw_only=True, slots=False)
class BranchExists(AlreadyExists):
    """The native name is taken: by a branch, or (``listed`` false) by a half-made one."""

    kind: ClassVar[str] = "branch_exists"
    place: str
    branch: str
    listed: bool

    def __str__(self) -> str:
        if self.listed:
            return f"{self.place} has a branch {self.branch!r} already. Choose another name."
        return (
            f"{self.place} holds the remains of a branch {self.branch!r} whose creation was cut "
            "short, which Lance can neither list nor delete. Choose a fresh name."
        )


@define(kw_only=True, slots=False)
class TagExists(AlreadyExists):
    """The tag name is taken."""

    kind: ClassVar[str] = "tag_exists"
    place: str
    tag: str

    def __str__(self) -> str:
        return f"{self.place} has a tag {self.tag!r} already. Choose another name, or delete it."


@define(kw_only=True, slots=False)
class RefExists(AlreadyExists):
    """A ref of that name is there already."""

    kind: ClassVar[str] = "ref_exists"
    place: str
    name: str

    def __str__(self) -> str:
        return f"There is a ref {self.name!r} in {self.place} already. Read it, then replace it."


# --- somebody else was first ------------------------------------------------------------


@define(kw_only=True, slots=False)
class Conflict(L1Error):
    """Somebody else changed the same thing first. Nothing of this call became visible."""

    kind: ClassVar[str] = "conflict"


@define(kw_only=True, slots=False)
class CommitConflict(Conflict):
    """Lance refused a commit because of another commit. ``resolution`` says what helps."""

    kind: ClassVar[str] = "commit_conflict"
    place: str
    branch: str | None
    operation: str
    base_version: int
    resolution: Resolution
    detail: str

    def __str__(self) -> str:
        return (
            f"The {self.operation} on {self.place} ({_branch(self.branch)}), based on version "
            f"{self.base_version}, met another commit: {self.detail}. {self.resolution.advice}"
        )


@define(kw_only=True, slots=False)
class RefChanged(Conflict):
    """The ref is no longer what was read. ``found`` is the write id that stands there now."""

    kind: ClassVar[str] = "ref_changed"
    place: str
    name: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"Ref {self.name!r} in {self.place} was changed by somebody else: expected write "
            f"{self.expected}, found {self.found}. Read it again and decide anew."
        )


@define(kw_only=True, slots=False)
class StaleBranch(Conflict):
    """The handle's branch was deleted, and perhaps created again, since it was opened."""

    kind: ClassVar[str] = "stale_branch"
    place: str
    branch: str
    reason: str

    def __str__(self) -> str:
        return (
            f"This handle on branch {self.branch!r} of {self.place} must not write: the branch "
            f"{self.reason}. Open the branch again."
        )


@define(kw_only=True, slots=False)
class OutcomeUnknown(L1Error):
    """The reply to a write was lost, and so was the attempt to look. It may have happened.

    ``write_id`` is the id that the write carries: where it is found, the write happened.
    """

    kind: ClassVar[str] = "outcome_unknown"
    place: str
    write_id: str
    detail: str

    def __str__(self) -> str:
        return (
            f"It is not known whether write {self.write_id} to {self.place} happened: "
            f"{self.detail}. When the store answers again, look for that id before repeating it."
        )


# --- the store did not do it ------------------------------------------------------------


@define(kw_only=True, slots=False)
class StorageError(L1Error):
    """The store failed. ``detail`` is what it said, without secrets."""

    kind: ClassVar[str] = "storage_error"
    place: str
    detail: str

    def __str__(self) -> str:
        return f"The store failed at {self.place}: {self.detail}."


@define(kw_only=True, slots=False)
class StoreUnavailable(StorageError):
    """The store did not answer, or said that it cannot serve now."""

    kind: ClassVar[str] = "store_unavailable"

    def __str__(self) -> str:
        return (
            f"The store of {self.place} cannot be reached: {self.detail}. "
            "Check that it is up and that the endpoint is right, then try again."
        )


@define(kw_only=True, slots=False)
class AccessDenied(StorageError):
    """The store or the file system refused access."""

    kind: ClassVar[str] = "access_denied"

    def __str__(self) -> str:
        return (
            f"Access to {self.place} was refused: {self.detail}. "
            "Check the credentials, or the owner and mode of the files."
        )


@define(kw_only=True, slots=False)
class StorageFull(StorageError):
    """There is no room left."""

    kind: ClassVar[str] = "storage_full"

    def __str__(self) -> str:
        return (
            f"No room is left at {self.place}: {self.detail}. "
            "Make room and try again; nothing half done is visible."
        )


@define(kw_only=True, slots=False)
class UnsafeStore(StorageError):
    """The store ignores conditional writes, so two writers could both believe they won."""

    kind: ClassVar[str] = "unsafe_store"

    def __str__(self) -> str:
        return (
            f"{self.place} cannot be written safely: {self.detail}. "
            "Use a store that honours If-None-Match and If-Match on PUT."
        )


# --- stop, a person is needed -----------------------------------------------------------


@define(kw_only=True, slots=False)
class CorruptDataset(L1Error):
    """Files of a dataset are damaged or missing."""

    kind: ClassVar[str] = "corrupt_dataset"
    place: str
    detail: str

    def __str__(self) -> str:
        return (
            f"The dataset at {self.place} is damaged: {self.detail}. "
            "Open an older version, or bring the files back from a copy."
        )


@define(kw_only=True, slots=False)
class MovedDataset(L1Error):
    """The dataset was copied or moved, and Lance's branches point to where it came from."""

    kind: ClassVar[str] = "moved_dataset"
    place: str
    recorded: str

    def __str__(self) -> str:
        return (
            f"The dataset at {self.place} was copied or moved: its branch still points to "
            f"{self.recorded}, whose files would be read instead. Main can be read; for the "
            "branch, bring the dataset back to where it was."
        )


@define(kw_only=True, slots=False)
class CorruptRef(L1Error):
    """A ref is there, but is not the JSON object that it should be."""

    kind: ClassVar[str] = "corrupt_ref"
    place: str
    name: str
    detail: str

    def __str__(self) -> str:
        return (
            f"Ref {self.name!r} in {self.place} cannot be read: {self.detail}. "
            "Look at the file; it was left as it is."
        )


@define(kw_only=True, slots=False)
class UsedAfterFork(L1Error):
    """A handle was made in one process and used in its forked child, where it would hang."""

    kind: ClassVar[str] = "used_after_fork"
    what: str
    made_in: int
    used_in: int

    def __str__(self) -> str:
        return (
            f"{self.what} was made in process {self.made_in} and used in its forked child "
            f"{self.used_in}, where the store's threads do not exist. Start workers with the "
            "'spawn' method, or open it again in the child."
        )


def _branch(branch: str | None) -> str:
    return "main" if branch is None else f"branch {branch!r}"
