"""What a stream of changes was asked for: the options of ``readStream``, as values. Pure.

Always: Spark does not tell a data source whether a batch or a stream is wanted, and asks both for
their columns in the same way. So a stream is what has one of the options that only streams have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from omnigraph_spark._options import Options, Place, count_of, names_of, text_of
from omnigraph_spark.errors import InvalidOptions

__all__ = [
    "EARLIEST",
    "LATEST",
    "SNAPSHOT",
    "SourceOptions",
    "is_stream",
    "no_beginning",
    "source_options",
]

SNAPSHOT: Final = "snapshot"
EARLIEST: Final = "earliest"
LATEST: Final = "latest"

_COMMITS: Final = 1_000
_PARTITION_ROWS: Final = 1_000_000
_OF_STREAMS: Final = ("since", "starting", "max_commits_per_batch", "max_rows_per_batch")


@attrs.frozen(kw_only=True)
class SourceOptions:
    """Which changes are read, and in what portions."""

    place: Place
    table: str
    branch: str = "main"
    since: str | int | None = None
    starting: str = SNAPSHOT
    """Where it begins, if ``since`` does not say so."""
    columns: tuple[str, ...] | None = None
    max_commits_per_batch: int | None = None
    max_rows_per_batch: int | None = None
    partition_rows: int = _PARTITION_ROWS


def is_stream(given: Mapping[str, str]) -> bool:
    """Tell whether a stream was asked for."""
    return not {name.lower() for name in given}.isdisjoint(_OF_STREAMS)


def no_beginning() -> InvalidOptions:
    """Say what a stream lacks that has none of its options."""
    problem = (
        "a stream of changes says where it begins: 'starting' is snapshot, earliest or latest, or "
        "'since' is a commit id, a tag or a version"
    )
    return InvalidOptions(problems=(problem,))


def source_options(given: Mapping[str, str]) -> SourceOptions:
    """Read the options of a stream, or raise ``InvalidOptions`` with every problem."""
    options = Options(given)
    names = {name.lower() for name in given}
    for one, other in (("since", "starting"), ("max_commits_per_batch", "max_rows_per_batch")):
        if {one, other} <= names:
            options.problems.append(f"{one!r} and {other!r} are given; say one of them")
    size = "a whole number, 1 or more"
    columns = options.take(
        "columns", names_of, "names with commas between them, or a JSON list of names"
    )
    if columns == ():
        options.problems.append("'columns' names none; rows before and after need one at least")
    rows = options.take("max_rows_per_batch", count_of, size)
    found = SourceOptions(
        place=options.place(),
        table=options.required("table", "a table key, like node:Person"),
        branch=options.take("branch", text_of, "the name of a branch", "main"),
        since=options.take("since", _reference, "a commit id, a tag or a version"),
        starting=options.take("starting", _start, "snapshot, earliest or latest", SNAPSHOT),
        columns=columns,
        max_commits_per_batch=options.take(
            "max_commits_per_batch", count_of, size, _COMMITS if rows is None else None
        ),
        max_rows_per_batch=rows,
        partition_rows=options.take("partition_rows", count_of, size, _PARTITION_ROWS),
    )
    known = [each.name for each in attrs.fields(SourceOptions) if each.name != "place"]
    options.refuse_rest(f"{', '.join(known)}, storage.…")
    return found


def _start(text: str) -> str:
    if text.lower() not in {SNAPSHOT, EARLIEST, LATEST}:
        raise ValueError
    return text.lower()


def _reference(text: str) -> str | int:
    given = text_of(text).strip()
    return int(given) if given.isdecimal() else given
