"""What a version store remembers of one version: which staged file won. Pure.

Always: the name of a record sorts the newest version first. The staged file names its writer,
because no two have one name; the final file is named by its version alone.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

from omnigraph_l1._lance.manifest_names import format_name, parse_name

__all__ = ["SUFFIX", "Record", "final_path", "name_of", "version_of"]

SUFFIX = ".version"
_HIGHEST = 2**64 - 1
_MANIFEST = ".manifest"
_NO_RECORD = "it is no record of a version"


@attrs.frozen(kw_only=True)
class Record:
    """One version: who won it, and whether its file has its final name."""

    version: int
    staged: str
    """The path of the winner's file, inside the bucket."""
    size: int | None
    is_final: bool = False

    @property
    def final(self) -> str:
        """The path under which every reader of Lance looks for the version."""
        return self.staged[: self.staged.rindex(_MANIFEST) + len(_MANIFEST)]

    @property
    def path(self) -> str:
        """The path at which it can be read."""
        return self.final if self.is_final else self.staged

    @property
    def is_sound(self) -> bool:
        """Whether the paths are those of the version."""
        name = self.staged.rpartition("/")[2]
        if _MANIFEST not in name:
            return False
        parsed = parse_name(self.final.rpartition("/")[2])
        return parsed is not None and parsed[1] == self.version

    def to_bytes(self) -> bytes:
        """Write it down."""
        return json.dumps(attrs.asdict(self), ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Record:
        """Read it. ValueError where it is none."""
        try:
            content: Any = json.loads(data)
            record = cls(**content)
            if record.is_sound:
                return record
        except (TypeError, AttributeError, ValueError) as error:
            raise ValueError(_NO_RECORD) from error
        raise ValueError(_NO_RECORD)


def final_path(key: str, folder: str, version: int) -> str:
    """Give the path under which every reader looks for a version of a dataset of ours."""
    return "/".join(part for part in (key, folder, format_name(version)) if part)


def name_of(version: int) -> str:
    """Name the record of a version."""
    return f"{_HIGHEST - version:020}{SUFFIX}"


def version_of(name: str) -> int | None:
    """Tell the version of a record; None for the name of anything else."""
    digits = name.removesuffix(SUFFIX)
    if digits == name or len(digits) != len(str(_HIGHEST)) or not digits.isdecimal():
        return None
    return _HIGHEST - int(digits)
