"""Options that several commands share. Nothing here imports Lance.

Invariant: an option has the same meaning in every command that has it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from attrs import frozen
from cyclopts import Group, Parameter

import omnigraph_l2
from omnigraph_l2._cli.exit_status import DONE, WRONG, UsageError
from omnigraph_l2._cli.human_units import parse_time
from omnigraph_l2._cli.program_settings import Settings, resolve_settings
from omnigraph_l2._cli.terminal_output import Output

__all__ = [
    "COMMAND_DEFAULTS",
    "Author",
    "Common",
    "Job",
    "Revision",
    "Yes",
    "announce",
    "check_limit",
    "message_of",
    "parse_reference",
    "prepare_job",
]

if TYPE_CHECKING:
    from omnigraph_l2 import Repository, Snapshot

_EVERYWHERE = Group("For every command", sort_key=100)
_WHEN = Group("Revision", sort_key=50)
_WHO = Group("Commit", sort_key=60)


def _default(value: Any) -> str | None:
    """Return the default that help shows; none for flags and lists, which are off and empty."""
    return None if value is None or isinstance(value, bool | tuple) else str(value)


COMMAND_DEFAULTS = Parameter(show_default=_default)
"""How help describes the options of each application."""

Yes = Annotated[
    bool,
    Parameter(
        name="--yes",
        alias="-y",
        negative="",
        help="Do it. Without it, the command only shows what it would do.",
    ),
]


@Parameter(name="*", group=_EVERYWHERE)
@frozen(kw_only=True)
class Common:
    """The options of every command."""

    repo: Annotated[
        str | None,
        Parameter(alias="-r", help="Repository: a folder or s3://…; by default OMNIGRAPH_REPO."),
    ] = None
    storage: Annotated[
        tuple[str, ...],
        Parameter(
            help="Storage option KEY=VALUE; can be repeated. AWS_… variables are read, too.",
            negative="",
        ),
    ] = ()
    config: Annotated[
        Path | None,
        Parameter(
            help="Settings file; by default OMNIGRAPH_CONFIG, or the nearest omnigraph.toml."
        ),
    ] = None
    json: Annotated[bool, Parameter(negative="", help="Write results and errors as JSON.")] = False
    quiet: Annotated[bool, Parameter(alias="-q", negative="", help="Do not report progress.")] = (
        False
    )
    pager: Annotated[bool, Parameter(help="On a terminal, show long results in a pager.")] = True


@Parameter(name="*", group=_WHEN)
@frozen(kw_only=True)
class Revision:
    """A revision of the graph."""

    branch: Annotated[str, Parameter(alias="-b", help="Branch.")] = "main"
    version: Annotated[int | None, Parameter(help="Version of the branch.")] = None
    commit: Annotated[str | None, Parameter(help="Commit id.")] = None
    tag: Annotated[str | None, Parameter(help="Tag.")] = None
    as_of: Annotated[
        str | None, Parameter(help="Time, such as 2026-01-31T12:00:00+00:00; UTC by default.")
    ] = None

    def snapshot(self, repo: Repository) -> Snapshot:
        """Open the snapshot of this revision."""
        return repo.snapshot(
            self.branch,
            version=self.version,
            commit=self.commit,
            tag=self.tag,
            as_of=None if self.as_of is None else parse_time(self.as_of),
        )


@Parameter(name="*", group=_WHO)
@frozen(kw_only=True)
class Author:
    """The author and the message of a commit."""

    actor: Annotated[str | None, Parameter(help="Author; by default OMNIGRAPH_ACTOR.")] = None
    message: Annotated[str | None, Parameter(alias="-m", help="Message.")] = None


@frozen(kw_only=True)
class Job:
    """The output and the settings of a running command."""

    out: Output
    settings: Settings

    def open(self) -> Repository:
        """Open the repository."""
        return omnigraph_l2.Repository.open(self.settings.location, **self.open_options)

    @property
    def open_options(self) -> dict[str, Any]:
        """The options of ``Repository.init`` and ``Repository.open``."""
        return {
            "storage_options": dict(self.settings.storage) or None,
            "actor": self.settings.actor,
            "durability": self.settings.durability,
        }


def prepare_job(
    common: Common | None, author: Author | None = None, repo: str | None = None
) -> Job:
    """Resolve the settings of a command."""
    common = common or Common()
    options = {
        "repo": repo if repo is not None else common.repo,
        "actor": None if author is None else author.actor,
    }
    return Job(
        out=Output(json=common.json, quiet=common.quiet, pager=common.pager),
        settings=resolve_settings(options, common.storage, common.config, os.environ, _folder()),
    )


def _folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        message = f"Cannot read the current folder: {error.strerror}. Change to another folder"
        raise UsageError(message) from error


def message_of(author: Author | None) -> str | None:
    """Return the message, if any."""
    return None if author is None else author.message


def check_limit(limit: int | None) -> None:
    """Raise ``UsageError`` if a limit is negative."""
    if limit is not None and limit < 0:
        message = f"Invalid --limit {limit}: expected a number >= 0"
        raise UsageError(message)


def parse_reference(text: str) -> str | int:
    """Return a branch, tag or commit; a number is a version of main."""
    return int(text) if text.isdecimal() else text


def announce(
    job: Job, what: str, document: Any, text: str, *, yes: bool, dry_run: bool = False
) -> int:
    """Report what a destructive command does or would do, and return its exit status.

    The report is the same in both cases. Without ``--yes`` the status is invalid usage, unless
    ``--dry-run`` was used.
    """
    done = yes and not dry_run
    if job.out.json:
        job.out.document({"action": what, "done": done, **document})
    else:
        job.out.line((f"{what} " if done else f"would {what} ", "bold"), text)
        if not done:
            job.out.warn("Nothing was done. Use --yes to do it.")
    return DONE if yes or dry_run else WRONG
