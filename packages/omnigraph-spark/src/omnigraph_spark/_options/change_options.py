"""The options of ``readStream``.

Spark does not say whether a batch or a stream is read, and asks both for their columns in the same
way. So a read with one of the options that only streams have is a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from omnigraph_spark._options.option_reader import (
    OptionReader,
    RepositoryLocation,
    parse_count,
    parse_names,
    parse_text,
)
from omnigraph_spark.errors import InvalidOptions

__all__ = [
    "EARLIEST",
    "LATEST",
    "SNAPSHOT",
    "ChangeOptions",
    "is_change_stream",
    "missing_start",
    "parse_change_options",
]

SNAPSHOT: Final = "snapshot"
EARLIEST: Final = "earliest"
LATEST: Final = "latest"

_COMMITS: Final = 1_000
_PARTITION_ROWS: Final = 1_000_000
_OF_STREAMS: Final = ("since", "starting", "max_commits_per_batch", "max_rows_per_batch")


@attrs.frozen(kw_only=True)
class ChangeOptions:
    """Which changes are read, and in which portions."""

    location: RepositoryLocation
    table: str
    branch: str = "main"
    since: str | int | None = None
    starting: str = SNAPSHOT
    """Where it begins, without ``since``."""
    columns: tuple[str, ...] | None = None
    max_commits_per_batch: int | None = None
    max_rows_per_batch: int | None = None
    partition_rows: int = _PARTITION_ROWS


def is_change_stream(raw: Mapping[str, str]) -> bool:
    """Return whether options are those of a stream."""
    return not {name.lower() for name in raw}.isdisjoint(_OF_STREAMS)


def missing_start() -> InvalidOptions:
    """Return the error for a stream without any option of streams."""
    problem = (
        "a stream of changes needs a start: 'starting' is snapshot, earliest or latest, or "
        "'since' is a commit id, a tag or a version"
    )
    return InvalidOptions(problems=(problem,))


def parse_change_options(raw: Mapping[str, str]) -> ChangeOptions:
    """Parse the options of a stream, or raise ``InvalidOptions`` with every problem."""
    options = OptionReader(raw)
    names = {name.lower() for name in raw}
    for one, other in (("since", "starting"), ("max_commits_per_batch", "max_rows_per_batch")):
        if {one, other} <= names:
            options.problems.append(f"{one!r} and {other!r} cannot be combined")
    size = "a whole number, 1 or more"
    columns = options.take(
        "columns", parse_names, "names with commas between them, or a JSON list of names"
    )
    if columns == ():
        options.problems.append("'columns' is empty: expected at least one name")
    rows = options.take("max_rows_per_batch", parse_count, size)
    found = ChangeOptions(
        location=options.take_location(),
        table=options.take_required("table", "a table key, like node:Person"),
        branch=options.take("branch", parse_text, "the name of a branch", "main"),
        since=options.take("since", _parse_reference, "a commit id, a tag or a version"),
        starting=options.take("starting", _parse_start, "snapshot, earliest or latest", SNAPSHOT),
        columns=columns,
        max_commits_per_batch=options.take(
            "max_commits_per_batch", parse_count, size, _COMMITS if rows is None else None
        ),
        max_rows_per_batch=rows,
        partition_rows=options.take("partition_rows", parse_count, size, _PARTITION_ROWS),
    )
    known = [each.name for each in attrs.fields(ChangeOptions) if each.name != "location"]
    options.finish(f"{', '.join(known)}, storage.…")
    return found


def _parse_start(text: str) -> str:
    if text.lower() not in {SNAPSHOT, EARLIEST, LATEST}:
        raise ValueError
    return text.lower()


def _parse_reference(text: str) -> str | int:
    raw = parse_text(text).strip()
    return int(raw) if raw.isdecimal() else raw
