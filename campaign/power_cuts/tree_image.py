"""A tree of files as it would be found after a power cut, and how to put it on a real disk.

Invariant: what no surviving name leads to is not in it. Two images with the same key are the same
tree, so that a state is shown only once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import attrs

from campaign.power_cuts.disk_state import Change, Situation
from campaign.tracing.tree_snapshot import Snapshot
from omnigraph_testing.errors import InvalidOption

__all__ = ["Image", "build_image"]


@attrs.frozen
class _Directory:
    pass


@attrs.frozen
class _SymbolicLink:
    target: str


_Node: TypeAlias = _Directory | _SymbolicLink | Path | bytes


@attrs.frozen
class Image:
    """Relative paths, parents before children, with what stands there."""

    nodes: Mapping[str, _Node] = attrs.field(repr=False)

    def key(self) -> tuple[object, ...]:
        """Identify the tree. Bytes remember their hash, so that this is cheap to repeat."""
        return tuple((path, type(node), hash(node)) for path, node in self.nodes.items())

    def write_to(self, directory: Path) -> None:
        """Create the tree in a directory that is empty or not there yet."""
        if directory.exists() and any(directory.iterdir()):
            expected = "an empty directory, or one that is not there yet"
            raise InvalidOption(option="directory", found=repr(str(directory)), expected=expected)
        directory.mkdir(parents=True, exist_ok=True)
        for path, node in self.nodes.items():
            place = directory / path
            if isinstance(node, _Directory):
                place.mkdir()
            elif isinstance(node, _SymbolicLink):
                place.symlink_to(node.target)
            elif isinstance(node, bytes):
                place.write_bytes(node)
            else:
                shutil.copyfile(node, place)


def build_image(
    snapshot: Snapshot, situation: Situation, kept: Iterable[Change], contents: Mapping[int, bytes]
) -> Image:
    """Apply the changes that survived to the snapshot, and fill in contents that changed."""
    directories = {number: dict(names) for number, names in snapshot.directories.items()}
    directories.update({number: {} for number in situation.directories})
    survivors = [change for change in situation.changes if change.safe]
    for change in sorted([*survivors, *kept], key=lambda each: each.position):
        for entry in change.entries:
            names = directories.setdefault(entry.directory, {})
            if entry.file is None:
                names.pop(entry.name, None)
            else:
                names[entry.name] = entry.file
    links = {**snapshot.links, **situation.links}
    nodes: dict[str, _Node] = {}

    def visit(directory: int, prefix: str, above: frozenset[int]) -> None:
        for name, number in sorted(directories[directory].items()):
            path = os.path.join(prefix, name)  # noqa: PTH118 - hot
            if number in directories:
                nodes[path] = _Directory()
                if number not in above:
                    visit(number, path, above | {number})
            elif number in links:
                nodes[path] = _SymbolicLink(links[number])
            elif number in contents:
                nodes[path] = contents[number]
            else:
                nodes[path] = snapshot.files.get(number, b"")

    visit(snapshot.root, "", frozenset({snapshot.root}))
    return Image(nodes)
