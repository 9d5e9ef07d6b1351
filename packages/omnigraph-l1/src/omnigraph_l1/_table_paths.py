"""Names to paths: the hash of a type name, and the path of a type's table.

Invariant: pure, and the same for ever, since repositories on disk depend on it (FORMAT.md, "Type
names to paths"). A name is hashed as the UTF-8 bytes that it has: nothing is normalised.

Not here: whether two type names collide; who declares types decides that.
"""

from __future__ import annotations

from omnigraph_l1._text_encoding import is_text, readable
from omnigraph_l1.errors import InvalidName

__all__ = ["fnv1a64", "table_path", "type_hash"]

_OFFSET_BASIS = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = (1 << 64) - 1
_FOLDERS = {"node": "nodes", "edge": "edges"}


def fnv1a64(name: str) -> int:
    """Hash the UTF-8 bytes of ``name`` with FNV-1a, 64 bits."""
    digest = _OFFSET_BASIS
    for byte in _utf8("type", name):
        digest = ((digest ^ byte) * _PRIME) & _MASK
    return digest


def type_hash(name: str) -> str:
    """Write the hash of a type name as 16 lower-case hex digits."""
    return f"{fnv1a64(name):016x}"


def table_path(table_key: str) -> str:
    """Return the path, below the root of a repository, of the table ``node:X`` or ``edge:X``."""
    _utf8("table", table_key)
    kind, colon, type_name = table_key.partition(":")
    folder = _FOLDERS.get(kind)
    if folder is None or not colon or not type_name:
        rule = "a table key is 'node:' or 'edge:' and the name of a type, as in 'node:Person'"
        raise InvalidName(what="table", name=table_key, rule=rule)
    return f"{folder}/{type_hash(type_name)}"


def _utf8(what: str, name: str) -> bytes:
    if not is_text(name):
        rule = "it is no text, or holds half of a surrogate pair, which UTF-8 cannot write"
        raise InvalidName(what=what, name=readable(name), rule=rule)
    return name.encode("utf-8")
