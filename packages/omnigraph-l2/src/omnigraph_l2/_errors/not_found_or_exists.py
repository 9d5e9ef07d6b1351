"""Errors of a name: what was named does not exist, or exists already."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l1.errors import OmniGraphError

__all__ = [
    "AlreadyExists",
    "BranchExists",
    "NotFound",
    "NotOnBranch",
    "RepositoryExists",
    "RepositoryNotFound",
    "SnapshotExpired",
    "TagExists",
    "UnknownBranch",
    "UnknownCommit",
    "UnknownReference",
    "UnknownRun",
    "UnknownTable",
    "UnknownTag",
    "UnknownVersion",
]


@define(kw_only=True, slots=False)
class NotFound(OmniGraphError):
    """What was named does not exist."""

    kind: ClassVar[str] = "not_found"


@define(kw_only=True, slots=False)
class RepositoryNotFound(NotFound):
    """There is no repository at the location, or its creation was not finished."""

    kind: ClassVar[str] = "repository_not_found"
    location: str
    found: str

    def __str__(self) -> str:
        return (
            f"There is no repository at {self.location}: found {self.found}. Check the "
            "location, or make one: Repository.init, or omnigraph init."
        )


@define(kw_only=True, slots=False)
class UnknownTable(NotFound):
    """The snapshot has no such table."""

    kind: ClassVar[str] = "unknown_table"
    table_key: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return f"There is no table {self.table_key!r} here. The tables are: {known}."


@define(kw_only=True, slots=False)
class UnknownBranch(NotFound):
    """There is no graph branch of that name, or the handle's branch was deleted."""

    kind: ClassVar[str] = "unknown_branch"
    location: str
    branch: str

    def __str__(self) -> str:
        return (
            f"{self.location} has no branch {self.branch!r}, or only a new one of that name "
            "since it was deleted. List its branches."
        )


@define(kw_only=True, slots=False)
class UnknownVersion(NotFound):
    """The catalog never had that version on that branch."""

    kind: ClassVar[str] = "unknown_version"
    branch: str
    version: int | str

    def __str__(self) -> str:
        return (
            f"Branch {self.branch!r} has no version {self.version}: it was never written, or was "
            "cleaned up. See the log for those that are there."
        )


@define(kw_only=True, slots=False)
class UnknownCommit(NotFound):
    """No commit has that id."""

    kind: ClassVar[str] = "unknown_commit"
    commit_id: str

    def __str__(self) -> str:
        return f"There is no commit {self.commit_id!r}. See the log for those that are there."


@define(kw_only=True, slots=False)
class UnknownReference(NotFound):
    """No branch, tag or commit has that name."""

    kind: ClassVar[str] = "unknown_reference"
    location: str
    reference: str

    def __str__(self) -> str:
        return (
            f"{self.location} has no branch, no tag and no commit {self.reference!r}. List its "
            "branches and tags, and see the log for commits."
        )


@define(kw_only=True, slots=False)
class UnknownTag(NotFound):
    """There is no tag of that name."""

    kind: ClassVar[str] = "unknown_tag"
    location: str
    tag: str

    def __str__(self) -> str:
        return f"{self.location} has no tag {self.tag!r}. List its tags."


@define(kw_only=True, slots=False)
class NotOnBranch(NotFound):
    """What was named exists, but is not a commit of that branch."""

    kind: ClassVar[str] = "not_on_branch"
    branch: str
    reference: str

    def __str__(self) -> str:
        return (
            f"{self.reference!r} names no commit of branch {self.branch!r}, nor of those that it "
            "comes from. See the log of the branch, or name the branch that it is on."
        )


@define(kw_only=True, slots=False)
class UnknownRun(NotFound):
    """No run has that id."""

    kind: ClassVar[str] = "unknown_run"
    run_id: str

    def __str__(self) -> str:
        return f"There is no run {self.run_id!r}. List the runs."


@define(kw_only=True, slots=False)
class SnapshotExpired(NotFound):
    """What a snapshot needs was cleaned up: a version of a table, or of the catalog itself."""

    kind: ClassVar[str] = "snapshot_expired"
    table_key: str | None = None
    table_version: int | None = None
    branch: str | None = None
    version: int | None = None
    """The version of the branch, where it is gone as a whole."""

    def __str__(self) -> str:
        gone = (
            f"Version {self.version} of branch {self.branch!r}"
            if self.table_key is None
            else f"Version {self.table_version} of {self.table_key}, which this snapshot needs,"
        )
        return (
            f"{gone} was cleaned up. Take a new snapshot. What must stay readable is kept by a "
            "tag, by a branch, or by cleaning with a longer retention."
        )


@define(kw_only=True, slots=False)
class AlreadyExists(OmniGraphError):
    """What should be created exists already. It was not changed."""

    kind: ClassVar[str] = "already_exists"


@define(kw_only=True, slots=False)
class RepositoryExists(AlreadyExists):
    """The location already holds a repository, or something else."""

    kind: ClassVar[str] = "repository_exists"
    location: str
    found: str

    def __str__(self) -> str:
        return (
            f"No repository can be made at {self.location}: found {self.found}. Open it, or choose "
            "an empty location."
        )


@define(kw_only=True, slots=False)
class BranchExists(AlreadyExists):
    """There is a graph branch of that name."""

    kind: ClassVar[str] = "branch_exists"
    branch: str

    def __str__(self) -> str:
        return f"There is a branch {self.branch!r} already. Choose another name, or delete it."


@define(kw_only=True, slots=False)
class TagExists(AlreadyExists):
    """There is a tag of that name."""

    kind: ClassVar[str] = "tag_exists"
    location: str
    tag: str

    def __str__(self) -> str:
        return (
            f"{self.location} has a tag {self.tag!r} already, and a tag never moves. Choose "
            "another name, or delete it."
        )
