"""Values of this package as JSON documents. No I/O.

Invariant: the result for any value can be written as JSON. The keys of a document are the names of
the public attributes of the value.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from enum import Enum
from typing import Any

import attrs

__all__ = ["error_document", "plain"]


def plain(value: Any) -> Any:  # noqa: PLR0911 - one return for each kind
    """Convert a value to JSON types."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if attrs.has(type(value)):
        return {
            field.name: plain(getattr(value, field.name))
            for field in attrs.fields(type(value))
            if not field.name.startswith("_")
        }
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | AbstractSet):
        return [plain(each) for each in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return str(value)


def error_document(error: BaseException, kind: str, message: str) -> dict[str, Any]:
    """Return an error as a document: its kind, its message and its attributes."""
    from omnigraph_l2.errors import OmniGraphError  # noqa: PLC0415 - it imports Lance

    attributes = plain(error) if isinstance(error, OmniGraphError) else {}
    return {"error": {"kind": kind, "message": message, **_without_head(attributes)}}


def _without_head(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in attributes.items() if name not in {"kind", "message"}}
