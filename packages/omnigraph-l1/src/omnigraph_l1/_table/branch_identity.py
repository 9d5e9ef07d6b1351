"""Which branch a name means: Lance's own record of it, read with one request.

Always: two branches that bore one name at different times have different identities. A branch
without a record is none, even where its files are there: its creation was cut short. Listing all
branches through Lance would tell the same, but costs a request for each branch there is.
"""

from __future__ import annotations

import json
from urllib.parse import quote, unquote

from omnigraph_l1._places import Storage
from omnigraph_l1._table.objects import all_names, read_object
from omnigraph_l1._text import is_text, readable
from omnigraph_l1.errors import CorruptDataset, StaleBranch, UnknownBranch

__all__ = ["check_branch_identity", "names_of_branches", "read_branch_identity"]

_RECORDS = "_refs/branches"
_SUFFIX = ".json"


def names_of_branches(storage: Storage) -> list[str]:
    """Name the branches that have a record: what is in the records is not read."""
    names = all_names(storage.child(_RECORDS))
    return sorted(unquote(name.removesuffix(_SUFFIX)) for name in names if name.endswith(_SUFFIX))


def read_branch_identity(storage: Storage, branch: str) -> str:
    """Read what tells this branch from any other; ``UnknownBranch`` where Lance has none."""
    if not is_text(branch):
        raise UnknownBranch(place=str(storage.place), branch=readable(branch))
    record = read_object(storage, f"{_RECORDS}/{quote(branch, safe='')}{_SUFFIX}")
    if record is None:
        raise UnknownBranch(place=str(storage.place), branch=branch)
    try:
        return json.dumps(json.loads(record)["identifier"]["version_mapping"])
    except (ValueError, KeyError, TypeError) as error:
        detail = f"Lance's record of branch {branch!r} cannot be read"
        raise CorruptDataset(place=str(storage.place), detail=detail) from error


def check_branch_identity(storage: Storage, branch: str, identity: str) -> None:
    """Raise ``StaleBranch`` where the branch is gone, or is another one by now."""
    place = str(storage.place)
    try:
        found = read_branch_identity(storage, branch)
    except UnknownBranch as error:
        raise StaleBranch(place=place, branch=branch, reason="was deleted") from error
    if found != identity:
        reason = "was deleted and created again"
        raise StaleBranch(place=place, branch=branch, reason=reason)
