"""Debian's packages as a graph: two tables of nodes, two of edges.

Always: an id is what the thing is called, so that a newer list changes the rows of the older one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository

LISTS = Path(__file__).resolve().parent.parent / "debian"
sys.path.insert(0, str(LISTS))
from package_lists import packages, relations  # noqa: E402  # the reader that lies beside the lists

RELEASE, SECURITY = (LISTS / f"{suite}.Packages.gz" for suite in ("bookworm", "bookworm-security"))

SCHEMA = GraphSchema(
    nodes=[
        NodeType(
            "Package", {"version": pa.string(), "kilobytes": pa.int64(), "checked_by": pa.string()}
        ),
        NodeType("Section"),
    ],
    edges=[
        EdgeType("Needs", "Package", "Package", {"kind": pa.string(), "condition": pa.string()}),
        EdgeType("IsIn", "Package", "Section"),
    ],
)

_NEEDS = ("Depends", "Pre-Depends", "Recommends")


def package_rows(place: Path) -> list[dict[str, Any]]:
    """Give a row for each package of a list."""
    return [
        {"id": each["name"], "version": each["version"], "kilobytes": int(each["kilobytes"])}
        for each in packages(place)
    ]


def section_rows(place: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Give the sections of a list, and which package is in which."""
    where = {each["name"]: each["section"] for each in packages(place)}
    sections = [{"id": section} for section in sorted(set(where.values()))]
    return sections, [{"id": name, "src": name, "dst": where[name]} for name in where]


def needs_rows(place: Path, known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give what each package of a list needs, as far as that is in the graph."""
    rows = {
        f"{each['package']} {each['kind']} {each['other']}": each
        for each in relations(place)
        if each["kind"] in _NEEDS and each["package"] in known and each["other"] in known
    }
    return [
        {"id": key, "src": row["package"], "dst": row["other"]}
        | {"kind": row["kind"], "condition": row["condition"]}
        for key, row in rows.items()
    ]


def versions(repo: Repository, branch: str = "main") -> dict[str, str]:
    """Read which version each package has."""
    found = repo.snapshot(branch).read("node:Package", columns=["id", "version"])
    return dict(zip(*(found[name].to_pylist() for name in ("id", "version")), strict=True))


def reached_from(needs: pa.Table, name: str) -> set[str]:
    """Follow the edges backwards: all that needs a package, and what needs that, and so on."""
    users: dict[str, list[str]] = {}
    for user, used in zip(needs["src"].to_pylist(), needs["dst"].to_pylist(), strict=True):
        users.setdefault(used, []).append(user)
    found, waiting = set(), [name]
    while waiting:
        new = set(users.get(waiting.pop(), ())) - found
        found |= new
        waiting.extend(new)
    return found - {name}


def is_newer(version: str, other: str) -> bool:
    """Compare versions by Debian's rule: epoch, then letters and numbers in turns."""
    return _key(version) > _key(other)


def _key(version: str) -> tuple[Any, ...]:
    epoch, _, rest = version.rpartition(":")
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return int(epoch or 0), tuple(_parts(upstream)), tuple(_parts(revision))


def _parts(text: str) -> Iterator[tuple[tuple[int, ...], int]]:
    for letters, digits in re.findall(r"(\D*)(\d*)", text):
        yield (*map(_order, letters), 0), int(digits or 0)


def _order(letter: str) -> int:
    """Sort ``~`` before the end of the text, letters before everything else."""
    return -1 if letter == "~" else ord(letter) + (0 if letter.isalpha() else 256)
