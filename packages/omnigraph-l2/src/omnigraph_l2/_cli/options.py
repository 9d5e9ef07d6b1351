"""Options that several commands share, and what comes of them. Nothing here imports Lance.

Always: an option means the same in every command that has it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from attrs import field, frozen
from cyclopts import Group, Parameter

import omnigraph_l2
from omnigraph_l2._cli.output import Output
from omnigraph_l2._cli.settings import Settings, settled
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.times import moment_of

if TYPE_CHECKING:
    from omnigraph_l2 import Repository, Snapshot

__all__ = ["SAID", "Author", "Common", "Job", "Moment", "Yes", "begun", "check_limit", "said"]

_EVERYWHERE = Group("For every command", sort_key=100)
_WHEN = Group("Which moment", sort_key=50)
_WHO = Group("What the commit says", sort_key=60)


def _default(value: Any) -> str | None:
    """Tell a default in help where it says something: a flag is off, and a list empty, anyway."""
    return None if value is None or isinstance(value, bool | tuple) else str(value)


SAID = Parameter(show_default=_default)
"""How each program of commands tells of its options in help."""

Yes = Annotated[
    bool, Parameter(name="--yes", alias="-y", negative="", help="Do it. Without, it is only shown.")
]


@Parameter(name="*", group=_EVERYWHERE)
@frozen(kw_only=True)
class Common:
    """What every command takes."""

    repo: Annotated[
        str | None,
        Parameter(alias="-r", help="The repository: a folder, or s3://…; else OMNIGRAPH_REPO."),
    ] = None
    storage: Annotated[
        tuple[str, ...],
        Parameter(
            help="KEY=VALUE, an option of the store; may be repeated. AWS_… is read, too.",
            negative="",
        ),
    ] = ()
    config: Annotated[
        Path | None,
        Parameter(help="The file of settings; else OMNIGRAPH_CONFIG, or the next omnigraph.toml."),
    ] = None
    json: Annotated[bool, Parameter(negative="", help="Give results and errors as JSON.")] = False
    quiet: Annotated[
        bool, Parameter(alias="-q", negative="", help="Do not tell how far it has come.")
    ] = False
    pager: Annotated[bool, Parameter(help="Show long results in a pager, on a terminal.")] = True


@Parameter(name="*", group=_WHEN)
@frozen(kw_only=True)
class Moment:
    """A moment of the graph."""

    branch: Annotated[str, Parameter(alias="-b", help="The branch.")] = "main"
    version: Annotated[int | None, Parameter(help="The graph as it was at a version.")] = None
    commit: Annotated[str | None, Parameter(help="… after a commit, by its id.")] = None
    tag: Annotated[str | None, Parameter(help="… at a tag.")] = None
    as_of: Annotated[
        str | None, Parameter(help="… at a time, as in 2026-01-31T12:00:00+00:00; UTC if not said.")
    ] = None

    def of(self, repo: Repository) -> Snapshot:
        """Give the snapshot that is meant."""
        return repo.snapshot(
            self.branch,
            version=self.version,
            commit=self.commit,
            tag=self.tag,
            as_of=None if self.as_of is None else moment_of(self.as_of),
        )


@Parameter(name="*", group=_WHO)
@frozen(kw_only=True)
class Author:
    """Who does it, and why."""

    actor: Annotated[str | None, Parameter(help="Who does it; else OMNIGRAPH_ACTOR.")] = None
    message: Annotated[str | None, Parameter(alias="-m", help="Why.")] = None


@frozen(kw_only=True)
class Job:
    """What a command works with."""

    out: Output
    settings: Settings
    environ: Mapping[str, str] = field(repr=False)

    def open(self) -> Repository:
        """Open the repository that is meant."""
        return omnigraph_l2.Repository.open(self.settings.place, **self.how)

    @property
    def how(self) -> dict[str, Any]:
        """Tell how the repository is reached: what ``init`` and ``open`` take."""
        return {
            "storage_options": dict(self.settings.storage) or None,
            "actor": self.settings.actor,
            "durability": self.settings.durability,
        }


def begun(common: Common | None, author: Author | None = None, repo: str | None = None) -> Job:
    """Settle what holds for a command."""
    common = common or Common()
    given = {
        "repo": repo if repo is not None else common.repo,
        "actor": None if author is None else author.actor,
    }
    return Job(
        out=Output(json=common.json, quiet=common.quiet, pager=common.pager),
        settings=settled(given, common.storage, common.config, os.environ, _folder()),
        environ=os.environ,
    )


def _folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        message = f"the current folder cannot be read: {error.strerror}: go to another one"
        raise UsageError(message) from error


def said(author: Author | None) -> str | None:
    """Give the message, where there is one."""
    return None if author is None else author.message


def check_limit(limit: int | None) -> None:
    """Refuse to show fewer rows than none."""
    if limit is not None and limit < 0:
        message = f"--limit is a number from 0, found {limit}"
        raise UsageError(message)
