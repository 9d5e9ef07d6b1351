"""Errors of a name: what was named does not exist, or exists already."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l1._errors.base import L1Error, branch_words

__all__ = [
    "AlreadyExists",
    "BranchExists",
    "DatasetExists",
    "DatasetNotFound",
    "NotADataset",
    "NotFound",
    "RefExists",
    "RefNotFound",
    "TagExists",
    "UnknownBranch",
    "UnknownTag",
    "UnknownVersion",
]


@define(kw_only=True, slots=False)
class NotFound(L1Error):
    """What was named is not there."""

    kind: ClassVar[str] = "not_found"


@define(kw_only=True, slots=False)
class DatasetNotFound(NotFound):
    """There is no dataset at the location."""

    kind: ClassVar[str] = "dataset_not_found"
    location: str

    def __str__(self) -> str:
        return (
            f"There is no dataset at {self.location}. Check the location, or create the dataset "
            "there."
        )


@define(kw_only=True, slots=False)
class NotADataset(NotFound):
    """The location holds something, but not a Lance dataset."""

    kind: ClassVar[str] = "not_a_dataset"
    location: str
    found: str

    def __str__(self) -> str:
        return f"{self.location} is not a Lance dataset: found {self.found}. Check the location."


@define(kw_only=True, slots=False)
class UnknownVersion(NotFound):
    """The version was never written, or was cleaned away."""

    kind: ClassVar[str] = "unknown_version"
    location: str
    branch: str | None
    version: int

    def __str__(self) -> str:
        return (
            f"Version {self.version} of {self.location} on {branch_words(self.branch)} is not "
            "there: it was never written or has been cleaned up. List the versions that are left."
        )


@define(kw_only=True, slots=False)
class UnknownBranch(NotFound):
    """The dataset has no native branch of that name."""

    kind: ClassVar[str] = "unknown_branch"
    location: str
    branch: str

    def __str__(self) -> str:
        return f"{self.location} has no branch {self.branch!r}. List its branches."


@define(kw_only=True, slots=False)
class UnknownTag(NotFound):
    """The dataset has no native tag of that name."""

    kind: ClassVar[str] = "unknown_tag"
    location: str
    tag: str

    def __str__(self) -> str:
        return f"{self.location} has no tag {self.tag!r}. List its tags."


@define(kw_only=True, slots=False)
class RefNotFound(NotFound):
    """The ref that should be replaced or deleted is gone."""

    kind: ClassVar[str] = "ref_not_found"
    location: str
    name: str

    def __str__(self) -> str:
        return (
            f"There is no ref {self.name!r} in {self.location}. Read it again before changing it."
        )


@define(kw_only=True, slots=False)
class AlreadyExists(L1Error):
    """What should be created is there already. It was left as it is."""

    kind: ClassVar[str] = "already_exists"


@define(kw_only=True, slots=False)
class DatasetExists(AlreadyExists):
    """A dataset is at the location already."""

    kind: ClassVar[str] = "dataset_exists"
    location: str

    def __str__(self) -> str:
        return (
            f"There is a dataset at {self.location} already. Open it, or choose another location."
        )


@define(kw_only=True, slots=False)
class BranchExists(AlreadyExists):
    """The native name is taken: by a branch, or (``listed`` false) by a half-made one."""

    kind: ClassVar[str] = "branch_exists"
    location: str
    branch: str
    listed: bool

    def __str__(self) -> str:
        if self.listed:
            return f"{self.location} has a branch {self.branch!r} already. Choose another name."
        return (
            f"{self.location} holds the remains of a branch {self.branch!r} whose creation was cut "
            "short, which Lance can neither list nor delete. Choose a fresh name."
        )


@define(kw_only=True, slots=False)
class TagExists(AlreadyExists):
    """The tag name is taken."""

    kind: ClassVar[str] = "tag_exists"
    location: str
    tag: str

    def __str__(self) -> str:
        return f"{self.location} has a tag {self.tag!r} already. Choose another name, or delete it."


@define(kw_only=True, slots=False)
class RefExists(AlreadyExists):
    """A ref of that name is there already."""

    kind: ClassVar[str] = "ref_exists"
    location: str
    name: str

    def __str__(self) -> str:
        return f"There is a ref {self.name!r} in {self.location} already. Read it, then replace it."
