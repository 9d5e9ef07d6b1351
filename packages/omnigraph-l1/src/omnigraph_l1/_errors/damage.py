"""Stop: a person is needed."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l1._errors.base import L1Error

__all__ = [
    "CorruptDataset",
    "CorruptRef",
    "MixedVersionNames",
    "MovedDataset",
    "UnsafePath",
    "UnsupportedPylance",
    "UsedAfterFork",
]


@define(kw_only=True, slots=False)
class CorruptDataset(L1Error):
    """Files of a dataset are damaged or missing."""

    kind: ClassVar[str] = "corrupt_dataset"
    location: str
    detail: str

    def __str__(self) -> str:
        return (
            f"The dataset at {self.location} is damaged: {self.detail}. "
            "Open an older version, or bring the files back from a copy."
        )


@define(kw_only=True, slots=False)
class MixedVersionNames(CorruptDataset):
    """Some version files bear names of the old kind, some of the new; Lance reads neither then."""

    kind: ClassVar[str] = "mixed_version_names"

    def __str__(self) -> str:
        return (
            f"The version files of {self.location} have names of both kinds: {self.detail}. "
            "They are "
            "being renamed, or that was cut short, or a writer who opened it before goes on. End "
            "such writers, then call migrate_version_names."
        )


@define(kw_only=True, slots=False)
class MovedDataset(L1Error):
    """The dataset was copied or moved, and Lance's branches point to where it came from."""

    kind: ClassVar[str] = "moved_dataset"
    location: str
    recorded: str

    def __str__(self) -> str:
        return (
            f"The dataset at {self.location} was copied or moved: its branch still points to "
            f"{self.recorded}, whose files would be read instead. Main can be read; for the "
            "branch, bring the dataset back to where it was."
        )


@define(kw_only=True, slots=False)
class UnsafePath(L1Error):
    """Something in a directory of ours would lead out of it. It was neither read nor changed."""

    kind: ClassVar[str] = "unsafe_path"
    path: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"Refused {self.path}: expected {self.expected}, found {self.found}. Nothing outside "
            "of the location is read or changed. Remove it, or bring the original back."
        )


@define(kw_only=True, slots=False)
class CorruptRef(L1Error):
    """A ref is there, but is not the JSON object that it should be."""

    kind: ClassVar[str] = "corrupt_ref"
    location: str
    name: str
    detail: str

    def __str__(self) -> str:
        return (
            f"Ref {self.name!r} in {self.location} cannot be read: {self.detail}. "
            "Look at the file; it was left as it is."
        )


@define(kw_only=True, slots=False)
class UnsupportedPylance(L1Error):
    """The installed pylance lacks something that this package uses of it, or changed it."""

    kind: ClassVar[str] = "unsupported_pylance"
    hook: str
    found: str
    supported: str

    def __str__(self) -> str:
        return (
            f"Unsupported pylance {self.found}: {self.hook} is missing or was changed. "
            f"Install pylance {self.supported}."
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
