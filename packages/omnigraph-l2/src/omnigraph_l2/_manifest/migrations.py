"""The internal schema version of ``__manifest``: who may read it, and bringing it up to date.

Always: nothing else looks at the stamp. ``check`` reads only, and costs no request: every open
calls it. ``migrate`` walks one step at a time to the newest version; a step may be cut short
between any two of its writes and run again, by anybody, and several processes may run it at once.
The stamp is that of one branch: each branch of ``__manifest`` has its own.

To add a version: raise the constant, add a step to ``STEPS``, test it.
"""

from __future__ import annotations

import random
import re
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pyarrow as pa

from omnigraph_l1 import PRIMARY_KEY, Table
from omnigraph_l1.errors import CommitConflict
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._errors.translating import border
from omnigraph_l2.errors import CorruptRepository, UpgradeRequired

__all__ = ["INTERNAL_MANIFEST_SCHEMA_VERSION", "STEPS", "check", "migrate", "stamp", "stamped"]

INTERNAL_MANIFEST_SCHEMA_VERSION: int = 2

Step: TypeAlias = Callable[[Table], Table]

_KEY_COLUMN: Final = "object_id"
_STAMP: Final = "omnigraph:internal_schema_version"
_WHOLE_NUMBER: Final = re.compile(rb"[1-9][0-9]{0,17}")
_UNSTAMPED: Final = 1
_ANNOTATED_FROM: Final = 2

_ROWS_IN_ONE_DELETE: Final = 1000
_PATIENCE_SECONDS: Final = 60.0
_LONGEST_PAUSE: Final = 0.05

_COLLAPSED = declare("l2.migrate.collapsed", "of rows that stood twice, some or all stand once")
_ANNOTATED = declare("l2.migrate.annotated", "the key is annotated, the version not yet stamped")
_STAMPED = declare("l2.migrate.stamped", "the catalog bears the stamp of the step's version")


def check(table: Table) -> int:
    """Give the internal schema version, or refuse what cannot be read. Reads only."""
    schema = table.schema
    text = (schema.metadata or {}).get(_STAMP.encode())
    if text is None:
        return _UNSTAMPED
    if not _WHOLE_NUMBER.fullmatch(text):
        found = text.decode(errors="backslashreplace")
        detail = f"it is {found!r}, and should be a whole number from 1 on"
        raise CorruptRepository(place=_root(table), item=_where(table), detail=detail)
    version = int(text)
    if version > INTERNAL_MANIFEST_SCHEMA_VERSION:
        raise UpgradeRequired(
            place=_root(table), found=version, supported=INTERNAL_MANIFEST_SCHEMA_VERSION
        )
    if version >= _ANNOTATED_FROM and not _is_annotated(schema):
        detail = (
            f"it is {version}, but column {_KEY_COLUMN!r} does not carry the annotation "
            f"{PRIMARY_KEY.decode()!r}, without which two publishers could both win"
        )
        raise CorruptRepository(place=_root(table), item=_where(table), detail=detail)
    return version


def migrate(table: Table) -> Table:
    """Bring this branch of the catalog to the newest version; give the handle that shows it."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with border():
        if check(table) == INTERNAL_MANIFEST_SCHEMA_VERSION:
            return table
        while True:
            table = table.refresh()
            version = check(table)
            if version == INTERNAL_MANIFEST_SCHEMA_VERSION:
                return table
            try:
                table = STEPS[version](table)
            except CommitConflict:
                # Somebody else writes, most likely the same migration: look how far it is.
                if time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - spreads, guards nothing


def stamp(table: Table, version: int) -> Table:
    """Say that the catalog is of this version: the last write of a step."""
    table = table.annotate(schema_metadata={_STAMP: str(version)}).table
    failpoint(_STAMPED)
    return table


def stamped(schema: pa.Schema) -> pa.Schema:
    """Give the schema of a new catalog, which is of the newest version from the start."""
    own = {_STAMP.encode(): str(INTERNAL_MANIFEST_SCHEMA_VERSION).encode()}
    return schema.with_metadata({**(schema.metadata or {}), **own})


def _step_1_to_2(table: Table) -> Table:
    """Leave one row of each ``object_id``, and see to it that it stays so."""
    table = _collapsed(table)
    if not _is_annotated(table.schema):
        table = table.annotate(field_metadata={_KEY_COLUMN: {PRIMARY_KEY.decode(): "true"}}).table
        failpoint(_ANNOTATED)
        # A writer that saw no annotation may have come in between: what it wrote is looked at too.
        table = _collapsed(table.refresh())
    done = stamp(table, 2)
    return done if done.version == table.version + 1 else _collapsed(done)


STEPS: dict[int, Step] = {1: _step_1_to_2}


def _collapsed(table: Table) -> Table:
    """Delete all but the first of rows that are equal; refuse, before that, rows that are not."""
    while surplus := _surplus(table):
        listed = ", ".join(str(row_id) for row_id in surplus[:_ROWS_IN_ONE_DELETE])
        table = table.delete(f"_rowid IN ({listed})").table
        failpoint(_COLLAPSED)
    return table


def _surplus(table: Table) -> list[int]:
    """Name the rows that say what another one says already.

    Which are left follows from the version alone, so that two who collapse it at once agree. It is
    asked again after each delete: where row ids are not stable, others may have moved the rows.
    """
    rows = table.read(with_row_id=True)
    columns = [name for name in rows.column_names if name != "_rowid"]
    by_id: defaultdict[str, list[int]] = defaultdict(list)
    for position, object_id in enumerate(rows[_KEY_COLUMN].to_pylist()):
        by_id[object_id].append(position)
    surplus: list[int] = []
    for object_id, positions in by_id.items():
        if len(positions) > 1:
            same = rows.take(positions)
            _refuse_different(table, object_id, same.select(columns).to_pylist())
            surplus += sorted(same["_rowid"].to_pylist())[1:]
    return surplus


def _refuse_different(table: Table, object_id: str, rows: list[dict[str, Any]]) -> None:
    first = rows[0]
    differing = [name for name in first if any(row[name] != first[name] for row in rows)]
    if differing:
        detail = (
            f"{len(rows)} rows bear this object_id and differ in {', '.join(differing)}, so that "
            "it is not known which of them counts"
        )
        raise CorruptRepository(place=_root(table), item=f"row {object_id!r}", detail=detail)


def _is_annotated(schema: pa.Schema) -> bool:
    if _KEY_COLUMN not in schema.names:
        return False
    annotations = schema.field(_KEY_COLUMN).metadata or {}
    return annotations.get(PRIMARY_KEY) == b"true"


def _root(table: Table) -> str:
    return str(table.place).removesuffix("/__manifest")


def _where(table: Table) -> str:
    branch = "main" if table.branch is None else f"branch {table.branch!r}"
    return f"the stamp {_STAMP!r} of __manifest on {branch}"
