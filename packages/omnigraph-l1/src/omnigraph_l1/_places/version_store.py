"""Which version store decides, where a store of data has no conditional writes: pure.

Always: the two options ``version_store`` and ``version_store.<name>`` are taken out of the others
here, and nowhere else. A version store has a name that says where it is, and no secret in it.

* ``sqlite:///folder/versions.sqlite``: a file on a disk that all writers share.
* ``s3://bucket/prefix`` (or ``gs``, ``az``): a bucket that does honour conditions, with the options
  of the data unless ``version_store.<name>`` says otherwise.
* A place ``s3+ddb://…?ddbTableName=t`` has its own: the DynamoDB table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import attrs

from omnigraph_l1._places.options import OptionValue
from omnigraph_l1._places.place import Place
from omnigraph_l1.errors import InvalidStorageOptions

__all__ = ["OPTION", "DynamoTable", "SqliteFile", "split_options", "sqlite_file"]

OPTION: Final = "version_store"
_PREFIX: Final = f"{OPTION}."
_SQLITE: Final = "sqlite://"


@attrs.frozen
class SqliteFile:
    """A database file, on a disk that every writer reaches under the same locks."""

    path: Path

    def __str__(self) -> str:
        return f"{_SQLITE}{self.path}"


@attrs.frozen
class DynamoTable:
    """The DynamoDB table of an ``s3+ddb`` place, which Lance itself uses for versions."""

    name: str

    def __str__(self) -> str:
        return f"DynamoDB table {self.name}"


def split_options(
    given: Mapping[str, OptionValue] | None,
) -> tuple[Mapping[str, OptionValue] | None, OptionValue, dict[str, OptionValue]]:
    """Give the options of the data, where the version store is, and the options of that."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        return given, None, {}
    ours = {
        name.removeprefix(_PREFIX): value
        for name, value in given.items()
        if name.startswith(_PREFIX)
    }
    rest = {n: value for n, value in given.items() if n != OPTION and not n.startswith(_PREFIX)}
    return rest, given.get(OPTION), ours


def sqlite_file(place: Place, text: str) -> SqliteFile | None:
    """Read ``sqlite:///path``; None for any other text."""
    if not text.startswith(_SQLITE):
        return None
    path = Path(unquote(text.removeprefix(_SQLITE)))
    if not path.is_absolute() or not path.name or "\0" in str(path):
        raise InvalidStorageOptions(
            place=str(place),
            option=OPTION,
            reason="names no file",
            remedy="Write sqlite:// and the absolute path of a file: sqlite:///folder/versions.db",
        )
    return SqliteFile(path)
