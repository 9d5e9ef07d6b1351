"""Names of views in SQL for tables of a graph. Pure.

Always: each table has a name of its own, for a language that does not tell upper from lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["view_names"]

_OTHER = re.compile(r"\W")


def view_names(table_keys: Iterable[str], prefix: str) -> dict[str, str]:
    """Give a name for each table key."""
    short = {key: _plain(f"{prefix}_{key.partition(':')[2]}") for key in table_keys}
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key, name in short.items():
        alone = sum(other.lower() == name.lower() for other in short.values()) == 1
        wanted = name if alone else _plain(f"{prefix}_{key.replace(':', '_')}")
        found, number = wanted, 2
        while found.lower() in taken:
            found, number = f"{wanted}_{number}", number + 1
        taken.add(found.lower())
        names[key] = found
    return names


def _plain(name: str) -> str:
    return _OTHER.sub("_", name)
