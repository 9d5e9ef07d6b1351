"""Reads package lists as apt keeps them: packages, and what they say of each other.

Always: one stanza of a list at a time, so that memory does not grow with the list.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

__all__ = ["packages", "relations", "stanzas"]

RELATIONS = ("Depends", "Pre-Depends", "Recommends", "Suggests", "Conflicts", "Breaks", "Replaces")
_TARGET = re.compile(r"([a-z0-9][a-z0-9+.-]*)(?::\w+)?\s*(?:\((.*?)\))?")


def stanzas(place: str | Path) -> Iterator[dict[str, str]]:
    """Give the fields of each package in a list: as it is, or compressed as gzip or LZ4."""
    with _opened(Path(place)) as lines:
        fields: dict[str, str] = {}
        for line in lines:
            if line[0] not in " \t\n":
                name, _, value = line.partition(":")
                fields[name] = value.strip()
            elif not line.strip() and fields:
                yield fields
                fields = {}
        if fields:
            yield fields


def packages(place: str | Path) -> Iterator[dict[str, Any]]:
    """Give the packages of a list, one for each name and architecture."""
    for fields in stanzas(place):
        yield {
            "name": fields["Package"],
            "version": fields["Version"],
            "section": fields.get("Section"),
            "priority": fields.get("Priority"),
            "kilobytes": fields.get("Installed-Size"),
        }


def relations(place: str | Path) -> Iterator[dict[str, Any]]:
    """Give what packages say of others. Of alternatives each is a relation of its own."""
    for fields in stanzas(place):
        for kind in RELATIONS:
            for group in filter(None, fields.get(kind, "").split(",")):
                for alternative in group.split("|"):
                    found = _TARGET.match(alternative.strip())
                    if found:
                        yield {
                            "package": fields["Package"],
                            "kind": kind,
                            "other": found[1],
                            "condition": found[2],
                        }


def _opened(place: Path) -> TextIO:
    if place.suffix == ".gz":
        return gzip.open(place, "rt", encoding="utf-8")
    if place.suffix == ".lz4":
        return io.TextIOWrapper(pa.input_stream(place, compression="lz4"), encoding="utf-8")
    return place.open(encoding="utf-8")
