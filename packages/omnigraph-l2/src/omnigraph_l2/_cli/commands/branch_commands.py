"""Branches and what is built on them: ``branch``, ``merge``, ``tag``, ``runs``."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

from omnigraph_l2._cli.commands.history_commands import Strategy
from omnigraph_l2._cli.common_options import (
    COMMAND_DEFAULTS,
    Author,
    Common,
    Yes,
    message_of,
    prepare_job,
)

__all__ = ["branch", "merge", "runs", "tag"]

_From = Annotated[
    str, Parameter(name="--from", help="A branch, a tag, a commit, or a version of main.")
]


def _command_group(name: str, text: str) -> App:
    return App(
        name=name,
        help=text,
        help_epilogue="",
        group_commands="Commands",
        default_parameter=COMMAND_DEFAULTS,
    )


branch = _command_group("branch", "List, create and delete branches.")
tag = _command_group(
    "tag", "List, create and delete tags. A tag names a commit and keeps its data."
)
runs = _command_group("runs", "List, show and abort runs. A run is published as one commit.")


@branch.command(name="list")
def list_branches(*, common: Common | None = None) -> int:
    """List the branches."""
    from omnigraph_l2._cli.actions import branches_and_tags

    return branches_and_tags.list_branches(prepare_job(common))


@branch.command
def create(
    name: str,
    /,
    *,
    source: _From = "main",
    common: Common | None = None,
) -> int:
    """Create a branch. No data is copied.

    Parameters
    ----------
    name
        Name.
    """
    from omnigraph_l2._cli.actions import branches_and_tags

    return branches_and_tags.create_branch(prepare_job(common), name, source)


@branch.command
def delete(
    name: str,
    /,
    *,
    force: Annotated[
        bool,
        Parameter(negative="", help="Delete it even if branches started from it or tags name it."),
    ] = False,
    yes: Yes = False,
    common: Common | None = None,
) -> int:
    """Delete a branch and the data that only it has.

    Parameters
    ----------
    name
        Name.
    """
    from omnigraph_l2._cli.actions import branches_and_tags

    return branches_and_tags.delete_branch(prepare_job(common), name, force=force, yes=yes)


def merge(
    source: str,
    /,
    *,
    into: Annotated[str, Parameter(help="Target branch.")] = "main",
    strategy: Strategy = "error",
    dry_run: Annotated[bool, Parameter(negative="", help="Only show the result.")] = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Merge a branch into another one. If there are conflicts, list them and change nothing.

    Parameters
    ----------
    source
        A branch, a tag or a commit.
    """
    from omnigraph_l2._cli.actions import merge_and_revert

    job = prepare_job(common, author)
    message = message_of(author)
    return merge_and_revert.merge(job, source, into, strategy, dry_run=dry_run, message=message)


@tag.command(name="list")
def list_tags(*, common: Common | None = None) -> int:
    """List the tags."""
    from omnigraph_l2._cli.actions import branches_and_tags

    return branches_and_tags.list_tags(prepare_job(common))


@tag.command(name="create")
def create_tag(
    name: str,
    /,
    *,
    source: _From = "main",
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Create a tag.

    Parameters
    ----------
    name
        Name.
    """
    from omnigraph_l2._cli.actions import branches_and_tags

    job = prepare_job(common, author)
    return branches_and_tags.create_tag(job, name, source, message=message_of(author))


@tag.command(name="delete")
def delete_tag(name: str, /, *, yes: Yes = False, common: Common | None = None) -> int:
    """Delete a tag. A cleanup can then remove the data that only the tag kept.

    Parameters
    ----------
    name
        Name.
    """
    from omnigraph_l2._cli.actions import branches_and_tags

    return branches_and_tags.delete_tag(prepare_job(common), name, yes=yes)


@runs.command(name="list")
def list_runs(
    *,
    status: Annotated[
        Literal["running", "published", "failed", "aborted"] | None,
        Parameter(help="Only runs with this status."),
    ] = None,
    common: Common | None = None,
) -> int:
    """List the runs, oldest first."""
    from omnigraph_l2._cli.actions import run_control

    return run_control.list_runs(prepare_job(common), status)


@runs.command
def show(run: str, /, *, common: Common | None = None) -> int:
    """Show a run.

    Parameters
    ----------
    run
        Run id.
    """
    from omnigraph_l2._cli.actions import run_control

    return run_control.show(prepare_job(common), run)


@runs.command
def abort(run: str, /, *, yes: Yes = False, common: Common | None = None) -> int:
    """Abort a run and drop its changes.

    Parameters
    ----------
    run
        Run id.
    """
    from omnigraph_l2._cli.actions import run_control

    return run_control.abort(prepare_job(common), run, yes=yes)
