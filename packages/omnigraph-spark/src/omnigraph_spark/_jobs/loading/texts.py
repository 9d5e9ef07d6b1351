"""The small languages inside a mapping: templates of ids, orders, shares. Pure.

Always: what cannot be read raises ``ValueError`` with what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Final

from omnigraph_spark._jobs.loading.mapping import Allowed, Name, Order, Template

__all__ = ["format_of", "name_or_template", "order_of", "share_of"]

_PART: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[^{}]+|[{}]")
_ORDER: Final = re.compile(r"^\s*(.+?)(?:\s+(asc|desc))?\s*$", re.IGNORECASE)
_PACKED: Final = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_SUFFIXES: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "ndjson",
}


def name_or_template(text: str) -> Name | Template:
    """Read one name, or text with names in braces; doubled braces stand for themselves."""
    if "{" not in text and "}" not in text:
        if not text.strip():
            msg = "is empty"
            raise ValueError(msg)
        return Name(text)
    parts: list[str | Name] = []
    for found in _PART.finditer(text):
        whole, name = found[0], found[1]
        if whole in {"{", "}"}:
            msg = f"has a {whole} without its other half; write {whole * 2} for the sign itself"
            raise ValueError(msg)
        if name is not None and not name.strip():
            msg = "has no name between { and }"
            raise ValueError(msg)
        parts.append(Name(name) if name is not None else whole.replace("{{", "{"))
    if not any(isinstance(part, Name) for part in parts):
        msg = "has no name in it, so that all rows would have one value"
        raise ValueError(msg)
    return Template(tuple("}" if part == "}}" else part for part in parts))


def order_of(text: str) -> Order:
    """Read ``name``, ``name asc`` or ``name desc``."""
    found = _ORDER.match(text)
    if found is None:
        msg = "is empty"
        raise ValueError(msg)
    return Order(found[1], descending=(found[2] or "").lower() == "desc")


def share_of(given: object) -> Allowed:
    """Read a number of rows, or a share of them as text: ``1%``."""
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return Allowed(given)
    if isinstance(given, str):
        text = given.strip()
        if re.fullmatch(r"\d+", text):
            return Allowed(int(text))
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text)
        if found and float(found[1]) <= 100:  # noqa: PLR2004 - per cent
            return Allowed(share=float(found[1]) / 100)
    raise ValueError


def format_of(path: str) -> str | None:
    """Tell the format by the end of a path."""
    lowered = path.lower()
    for packed in _PACKED:
        lowered = lowered.removesuffix(packed)
    return next((kind for end, kind in _SUFFIXES.items() if lowered.endswith(end)), None)
