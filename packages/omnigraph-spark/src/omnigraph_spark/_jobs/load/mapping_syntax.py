"""Parse the short texts inside a mapping: templates, sort keys, limits.

Each function raises ``ValueError`` with the reason if the text is invalid.
"""

from __future__ import annotations

import re
from typing import Final

from omnigraph_spark._jobs.load.load_mapping import ColumnName, RejectLimit, SortKey, Template

__all__ = ["guess_format", "parse_reject_limit", "parse_sort_key", "parse_source"]

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


def parse_source(text: str) -> ColumnName | Template:
    """Read one name, or text with names in braces; doubled braces stand for themselves."""
    if "{" not in text and "}" not in text:
        if not text.strip():
            msg = "is empty"
            raise ValueError(msg)
        return ColumnName(text)
    parts: list[str | ColumnName] = []
    for found in _PART.finditer(text):
        whole, name = found[0], found[1]
        if whole in {"{", "}"}:
            msg = f"has a {whole} without its other half; write {whole * 2} for the sign itself"
            raise ValueError(msg)
        if name is not None and not name.strip():
            msg = "has no name between { and }"
            raise ValueError(msg)
        parts.append(ColumnName(name) if name is not None else whole.replace("{{", "{"))
    if not any(isinstance(part, ColumnName) for part in parts):
        msg = "has no name in it, so that all rows would have one value"
        raise ValueError(msg)
    return Template(tuple("}" if part == "}}" else part for part in parts))


def parse_sort_key(text: str) -> SortKey:
    """Read ``name``, ``name asc`` or ``name desc``."""
    found = _ORDER.match(text)
    if found is None:
        msg = "is empty"
        raise ValueError(msg)
    return SortKey(found[1], descending=(found[2] or "").lower() == "desc")


def parse_reject_limit(value: object) -> RejectLimit:
    """Read a number of rows, or a share of them as text: ``1%``."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return RejectLimit(value)
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"\d+", text):
            return RejectLimit(int(text))
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text)
        if found and float(found[1]) <= 100:  # noqa: PLR2004 - per cent
            return RejectLimit(share=float(found[1]) / 100)
    raise ValueError


def guess_format(path: str) -> str | None:
    """Return the format that the suffix of a path suggests."""
    lowered = path.lower()
    for packed in _PACKED:
        lowered = lowered.removesuffix(packed)
    return next((kind for end, kind in _SUFFIXES.items() if lowered.endswith(end)), None)
