"""What others delete while a cleanup looks at it.

Always: an error counts as that only where the thing is really gone now. Who deletes takes the name
away first, and then the native branch, so that nobody needs what is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph_l1.errors import L1Error
from omnigraph_l2._references.tag_refs import Tag, TagRefs
from omnigraph_l2._storage import Root
from omnigraph_l2.errors import OmniGraphError

__all__ = ["unless_removed", "unless_untagged"]


@contextmanager
def unless_removed(root: Root, path: str, native: str | None) -> Iterator[None]:
    """Do something with a native branch of a dataset, or leave it where somebody removes that."""
    try:
        yield
    except (L1Error, OmniGraphError):
        if native is None or root.open(path).has_branch(native):
            raise
        root.forget(path, native)


@contextmanager
def unless_untagged(root: Root, tag: Tag) -> Iterator[None]:
    """Do something with what a tag names, or leave it where somebody deletes the tag."""
    try:
        yield
    except (L1Error, OmniGraphError):
        if TagRefs(root).get(tag.name) == tag:
            raise
