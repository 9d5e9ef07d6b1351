"""Names and work beside main: ``branch``, ``merge``, ``tag``, ``runs``."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

from omnigraph_l2._cli.commands.history import Strategy
from omnigraph_l2._cli.options import SAID, Author, Common, Yes, begun, said

__all__ = ["branch", "merge", "runs", "tag"]

_From = Annotated[
    str, Parameter(name="--from", help="A branch, a tag, a commit, or a version of main.")
]


def _family(name: str, text: str) -> App:
    return App(
        name=name, help=text, help_epilogue="", group_commands="Commands", default_parameter=SAID
    )


branch = _family("branch", "List, make and delete branches.")
tag = _family("tag", "List, make and delete tags: names of commits that keep their data.")
runs = _family("runs", "Look at runs, and give one up: work that becomes one commit.")


@branch.command(name="list")
def list_branches(*, common: Common | None = None) -> int:
    """List the branches."""
    from omnigraph_l2._cli.work import naming

    return naming.list_branches(begun(common))


@branch.command
def create(
    name: str,
    /,
    *,
    source: _From = "main",
    common: Common | None = None,
) -> int:
    """Start a branch. Nothing is copied.

    Parameters
    ----------
    name
        Its name.
    """
    from omnigraph_l2._cli.work import naming

    return naming.create_branch(begun(common), name, source)


@branch.command
def delete(
    name: str,
    /,
    *,
    force: Annotated[
        bool, Parameter(negative="", help="Also where others started from it, or tags name it.")
    ] = False,
    yes: Yes = False,
    common: Common | None = None,
) -> int:
    """Delete a branch, and what only it has.

    Parameters
    ----------
    name
        Its name.
    """
    from omnigraph_l2._cli.work import naming

    return naming.delete_branch(begun(common), name, force=force, yes=yes)


def merge(
    source: str,
    /,
    *,
    into: Annotated[str, Parameter(help="The branch that is changed.")] = "main",
    strategy: Strategy = "error",
    dry_run: Annotated[bool, Parameter(negative="", help="Write nothing, only tell.")] = False,
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Bring the changes of a branch into another one. Conflicts are listed, and nothing is done.

    Parameters
    ----------
    source
        A branch, a tag or a commit.
    """
    from omnigraph_l2._cli.work import merging

    job = begun(common, author)
    message = said(author)
    return merging.merge(job, source, into, strategy, dry_run=dry_run, message=message)


@tag.command(name="list")
def list_tags(*, common: Common | None = None) -> int:
    """List the tags."""
    from omnigraph_l2._cli.work import naming

    return naming.list_tags(begun(common))


@tag.command(name="create")
def create_tag(
    name: str,
    /,
    *,
    source: _From = "main",
    author: Author | None = None,
    common: Common | None = None,
) -> int:
    """Name a commit.

    Parameters
    ----------
    name
        The name.
    """
    from omnigraph_l2._cli.work import naming

    job = begun(common, author)
    return naming.create_tag(job, name, source, message=said(author))


@tag.command(name="delete")
def delete_tag(name: str, /, *, yes: Yes = False, common: Common | None = None) -> int:
    """Delete a tag. What only it has kept may be cleaned up then.

    Parameters
    ----------
    name
        Its name.
    """
    from omnigraph_l2._cli.work import naming

    return naming.delete_tag(begun(common), name, yes=yes)


@runs.command(name="list")
def list_runs(
    *,
    status: Annotated[
        Literal["running", "published", "failed", "aborted"] | None,
        Parameter(help="Only those of one status."),
    ] = None,
    common: Common | None = None,
) -> int:
    """List the runs, oldest first."""
    from omnigraph_l2._cli.work import running

    return running.list_runs(begun(common), status)


@runs.command
def show(run: str, /, *, common: Common | None = None) -> int:
    """Show a run.

    Parameters
    ----------
    run
        Its id.
    """
    from omnigraph_l2._cli.work import running

    return running.show(begun(common), run)


@runs.command
def abort(run: str, /, *, yes: Yes = False, common: Common | None = None) -> int:
    """Give a run up: what it did is gone.

    Parameters
    ----------
    run
        Its id.
    """
    from omnigraph_l2._cli.work import running

    return running.abort(begun(common), run, yes=yes)
