"""The options of a data frame's writer and of a stream's sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from omnigraph_spark._options.option_reader import (
    OptionReader,
    RepositoryLocation,
    parse_bool,
    parse_count,
    parse_text,
)
from omnigraph_spark.errors import InvalidOptions

__all__ = [
    "APPEND",
    "DELETE",
    "OVERWRITE",
    "UPSERT",
    "WriteOptions",
    "parse_sink_options",
    "parse_write_options",
]

APPEND: Final = "append"
OVERWRITE: Final = "overwrite"
UPSERT: Final = "upsert"
DELETE: Final = "delete"

_OF_STREAMS: Final = frozenset({"checkpointlocation", "queryname"})
"""Options that Spark adds to those of a sink."""


@attrs.frozen(kw_only=True)
class WriteOptions:
    """What is written, and where."""

    location: RepositoryLocation
    table: str
    mode: str
    branch: str = "main"
    actor: str | None = None
    message: str | None = None
    operation_hash: str | None = None
    expected_version: int | None = None
    """The version of the table on which the rows are based."""
    checked: bool = False
    """Whether the caller guarantees ids and endpoints."""

    @property
    def changes(self) -> bool:
        """Whether existing rows are looked up by their ids."""
        return self.mode in {UPSERT, DELETE}


def parse_write_options(raw: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    """Parse the options of a write, or raise ``InvalidOptions`` with every problem."""
    options = OptionReader(raw)
    mode = options.take("write_mode", _parse_mode, "append, upsert or delete")
    if mode is not None and overwrite:
        options.problems.append(f"'write_mode' is {mode} and mode is overwrite: say mode('append')")
    found = WriteOptions(
        location=options.take_location(),
        table=options.take_required("table", "a table key, like node:Person"),
        mode=OVERWRITE if overwrite else mode or APPEND,
        branch=options.take("branch", str, "the name of a branch", "main"),
        actor=options.take("actor", str, "who writes"),
        message=options.take("message", str, "why"),
        operation_hash=options.take("operation_hash", parse_text, "a name for what is done once"),
        expected_version=options.take(
            "expected_version", parse_count, "the version of the table, a whole number from 1"
        ),
        checked=options.take("checked", parse_bool, "true or false", default=False),
    )
    others = [
        each.name for each in attrs.fields(WriteOptions) if each.name not in {"location", "mode"}
    ]
    options.finish(f"{', '.join(others)}, write_mode, storage.…")
    return found


def parse_sink_options(raw: Mapping[str, str], *, overwrite: bool) -> WriteOptions:
    """Parse the options of a stream's sink, which sets its own name and version."""
    reserved = {"operation_hash", "expected_version", "checked"}.intersection(map(str.lower, raw))
    if reserved:
        problem = f"{', '.join(sorted(reserved))}: a stream sets its own for each batch"
        raise InvalidOptions(problems=(problem,))
    rest = {name: value for name, value in raw.items() if name.lower() not in _OF_STREAMS}
    return parse_write_options(rest, overwrite=overwrite)


def _parse_mode(text: str) -> str:
    if text.lower() not in {APPEND, UPSERT, DELETE}:
        raise ValueError
    return text.lower()
