"""A copy of a tree as it stood before a process began, with the numbers of its files.

Invariant: the copy is complete before the process starts, so later changes to the tree do not reach
it. Everything in it counts as safely on disk.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import attrs

from campaign.tracing.file_identities import Identities
from omnigraph_testing.errors import InvalidOption

__all__ = ["Snapshot", "number_tree", "real_root", "take_snapshot"]


@attrs.frozen(kw_only=True)
class Snapshot:
    """Directories with their names, files with their contents, links with their targets."""

    root: int
    directories: Mapping[int, Mapping[str, int]]
    files: Mapping[int, Path]
    links: Mapping[int, str]


def real_root(root: str | os.PathLike[str]) -> str:
    """Check that a root can be watched, and settle its symbolic links."""
    path = os.path.realpath(root)
    if not os.path.isdir(path):  # noqa: PTH112 - os.path throughout: these are the kernel's texts
        expected = "a directory that exists before the process starts"
        raise InvalidOption(option="root", found=repr(str(root)), expected=expected)
    return path


def number_tree(files: Identities) -> None:
    """Give a number to everything that stands below the root now, and to the root."""
    files.new(os.lstat(files.root))
    for directory, names, others in os.walk(files.root):
        for name in names + others:
            found = os.lstat(os.path.join(directory, name))  # noqa: PTH118
            if not files.knows(found):
                files.new(found)


def take_snapshot(files: Identities, copy: Path) -> Snapshot:
    """Copy the tree below the root, which has its numbers already, to ``copy``."""
    shutil.copytree(files.root, copy, symlinks=True)
    directories: dict[int, dict[str, int]] = {}
    contents: dict[int, Path] = {}
    links: dict[int, str] = {}
    for directory, names, others in os.walk(files.root):
        entries = directories.setdefault(files.at(directory), {})
        for name in names + others:
            path = os.path.join(directory, name)  # noqa: PTH118
            mode, number = os.lstat(path).st_mode, files.at(path)
            entries[name] = number
            if stat.S_ISLNK(mode):
                links[number] = os.readlink(path)  # noqa: PTH115
            elif stat.S_ISDIR(mode):
                directories.setdefault(number, {})
            else:
                contents[number] = copy / Path(path).relative_to(files.root)
    return Snapshot(
        root=files.at(files.root),
        directories=MappingProxyType(directories),
        files=MappingProxyType(contents),
        links=MappingProxyType(links),
    )
