"""What a write was asked for: the options of a data frame's writer, as values. Pure.

Always: everything that is wrong is told at once, with what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from omnigraph_spark._options import Options, Place, count_of, text_of, truth_of
from omnigraph_spark.errors import InvalidOptions

__all__ = [
    "APPEND",
    "DELETE",
    "OVERWRITE",
    "UPSERT",
    "WriteOptions",
    "stream_options",
    "write_options",
]

APPEND: Final = "append"
OVERWRITE: Final = "overwrite"
UPSERT: Final = "upsert"
DELETE: Final = "delete"

_OF_STREAMS: Final = frozenset({"checkpointlocation", "queryname"})
"""What Spark adds to the options of a sink for itself."""


@attrs.frozen(kw_only=True)
class WriteOptions:
    """What is written, and where."""

    place: Place
    table: str
    mode: str
    branch: str = "main"
    actor: str | None = None
    message: str | None = None
    operation_hash: str | None = None
    expected_version: int | None = None
    """The version of the table on which the rows stand."""
    checked: bool = False
    """Whether the caller vouches for ids and ends."""

    @property
    def changes(self) -> bool:
        """Whether rows that are there are looked up by their ids."""
        return self.mode in {UPSERT, DELETE}


def write_options(given: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    """Read the options of a write, or raise ``InvalidOptions`` with every problem."""
    options = Options(given)
    mode = options.take("write_mode", _mode, "append, upsert or delete")
    if mode is not None and overwrite:
        options.problems.append(f"'write_mode' is {mode} and mode is overwrite: say mode('append')")
    found = WriteOptions(
        place=options.place(),
        table=options.required("table", "a table key, like node:Person"),
        mode=OVERWRITE if overwrite else mode or APPEND,
        branch=options.take("branch", str, "the name of a branch", "main"),
        actor=options.take("actor", str, "who writes"),
        message=options.take("message", str, "why"),
        operation_hash=options.take("operation_hash", text_of, "a name for what is done once"),
        expected_version=options.take(
            "expected_version", count_of, "the version of the table, a whole number from 1"
        ),
        checked=options.take("checked", truth_of, "true or false", default=False),
    )
    others = [
        each.name for each in attrs.fields(WriteOptions) if each.name not in {"place", "mode"}
    ]
    options.refuse_rest(f"{', '.join(others)}, write_mode, storage.…")
    return found


def stream_options(given: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    """Read the options of a stream's sink, which has no name and no version of its own."""
    settled = {"operation_hash", "expected_version", "checked"}.intersection(map(str.lower, given))
    if settled:
        problem = f"{', '.join(sorted(settled))}: each batch of a stream has its own"
        raise InvalidOptions(problems=(problem,))
    rest = {name: value for name, value in given.items() if name.lower() not in _OF_STREAMS}
    return write_options(rest, overwrite=overwrite)


def _mode(text: str) -> str:
    if text.lower() not in {APPEND, UPSERT, DELETE}:
        raise ValueError
    return text.lower()
