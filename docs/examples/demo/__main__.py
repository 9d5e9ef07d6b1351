"""A real graph, from an empty folder to a merged branch: what OmniGraph does, on your own disk.

Run it with ``python3 dev.py demo``. It leaves the repository behind, to play with.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import story
import trouble
import with_spark
from telling import plain, styled

from omnigraph_l2 import Repository

PLACE = Path("omnigraph-demo") / "graph"


def main() -> None:
    """Tell the story, and what to try next."""
    begun = time.perf_counter()
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.parent.mkdir(exist_ok=True)
    plain(styled("OmniGraph: Debian's packages as a graph, with branches, in a folder", "bold"))

    ann = story.create(PLACE)
    bob = Repository.open(PLACE, actor="bob")
    first = story.load(ann, bob)
    story.look(ann)
    story.branch(ann)
    story.diff(ann)
    story.merge(ann)
    story.travel(ann, first)
    trouble.half_a_change(ann)
    trouble.two_writers(ann, bob)
    trouble.crash(ann, PLACE)
    story.undo(ann)
    for repo in (ann, bob):
        repo.close()
    plain(f"\nUntil here it took {time.perf_counter() - begun:.1f} seconds.")
    if "--no-spark" not in sys.argv:
        with_spark.ask_spark(PLACE)
    what_next()


def what_next() -> None:
    """Say what to try on the repository that was left."""
    plain(f"\nThe graph is in {PLACE}. Try next:")
    for line in (
        *commands(),
        ".nox/demo/bin/python",
        f">>> from omnigraph_l2 import Repository; repo = Repository.open({str(PLACE)!r})",
        ">>> [(commit.actor_id, commit.message) for commit in repo.log()]",
        ">>> print(repo.diff('as-released', 'main'))",
    ):
        plain(f"  {styled(line, 'cyan')}")


def commands() -> Iterator[str]:
    """Give commands for a shell, where the command line is installed."""
    if all(map(find_spec, ("cyclopts", "omnigraph_l2._cli"))):
        yield f"export OMNIGRAPH_REPO={PLACE}"
        yield ".nox/demo/bin/omnigraph log --graph"
        yield ".nox/demo/bin/omnigraph diff as-released main"
    if all(map(find_spec, ("cyclopts", "omnigraph_l2._explore"))):
        yield ".nox/demo/bin/omnigraph explore"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("Ended.", file=sys.stderr)
        sys.exit(130)
