"""What a graph branch may be called, and whose a native branch is. Pure.

Always: a name of ours never looks like a native one (which ends in a ULID), and never like a branch
that is internal. So nobody has to guess whose a native branch is.
"""

from __future__ import annotations

import re
from typing import Any, Final

from omnigraph_l1 import unique_branch_name
from omnigraph_l1.errors import InvalidName
from omnigraph_l2._storage.layout import SCHEMA_LOCK_BRANCH
from omnigraph_l2.errors import InvalidBranchName

__all__ = [
    "RUN_PREFIX",
    "has_unique_ending",
    "is_hidden",
    "is_owned_by",
    "native_name",
    "run_branch",
    "run_of",
]

RUN_PREFIX: Final = "__run__"

_UNIQUE_ENDING: Final = re.compile(r"\.[0-7][0-9a-hjkmnp-tv-z]{25}\Z")


def native_name(name: Any) -> str:
    """Make a native name, never used before, for a new branch; refuse a name that breaks a rule."""
    if not isinstance(name, str):
        raise InvalidBranchName(name=repr(name), rule="it is text")
    if is_hidden(name):
        raise InvalidBranchName(name=name, rule="names like that are kept for internal branches")
    if has_unique_ending(name):
        raise InvalidBranchName(name=name, rule="it does not end in a dot and a ULID")
    try:
        return unique_branch_name(name)
    except InvalidName as error:
        raise InvalidBranchName(name=name, rule=error.rule) from error


def is_hidden(name: Any) -> bool:
    """Tell whether a branch is internal: of a run, or the original program's lock."""
    return isinstance(name, str) and (name.startswith(RUN_PREFIX) or name == SCHEMA_LOCK_BRANCH)


def has_unique_ending(native: str) -> bool:
    """Tell whether a native branch was made by us: the original program's have no ULID."""
    return _UNIQUE_ENDING.search(native) is not None


def is_owned_by(table_branch: str | None, native: str) -> bool:
    """Tell whether a native branch of a table belongs to a graph branch."""
    if table_branch is None or not table_branch.startswith(native):
        return False
    rest = table_branch[len(native) :]
    return not rest or _UNIQUE_ENDING.fullmatch(rest) is not None


def run_branch(run_id: str) -> str:
    """Name the branch that a run works on, natively too."""
    return f"{RUN_PREFIX}{run_id}"


def run_of(native: str) -> str | None:
    """Name the run that works on a branch; None where it is no branch of a run."""
    return native[len(RUN_PREFIX) :] if native.startswith(RUN_PREFIX) else None
