"""What other processes do with tags.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

from typing import Any

from omnigraph_l2 import Repository
from omnigraph_l2.errors import TagExists


def names(repo: Repository) -> list[str]:
    """Name the tags."""
    return [each.name for each in repo.tags.list()]


def tag_and_untag(uri: str) -> None:
    """Make a tag, and delete it."""
    with Repository.open(uri, durability="none") as repo:
        repo.tags.create("v1")
        repo.tags.delete("v1")


def race_to_tag(uri: str, commit_id: str, start: Any) -> str | None:
    """Take one name at the same time as others; return what it names if it was won."""
    with Repository.open(uri, durability="none") as repo:
        start.wait()
        try:
            return repo.tags.create("v1", commit_id).graph_commit_id
        except TagExists:
            return None
