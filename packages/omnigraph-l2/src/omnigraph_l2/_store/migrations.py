"""The internal schema version of ``__manifest``: which versions can be read, and their migration.

Invariant: no other module reads the stamp. ``check_internal_schema`` only reads and costs no
request, because every open calls it. ``migrate_internal_schema`` runs one step at a time up to the
newest version. A step may be interrupted between any two of its writes and repeated, by any
process, and several processes may run it at once. Each branch of ``__manifest`` has its own stamp.

To add a stamp, which changes nothing outside this module and its test:

1. Raise ``INTERNAL_MANIFEST_SCHEMA_VERSION`` by one.
2. Add a step to ``STEPS`` under the version that it starts from. Each of its writes leaves a
   catalog that the step can start from again, has a failpoint behind it, and is left out if it was
   done. The last one is ``stamp``.
3. Test the step in ``tests/migrations``: from a catalog of the version before, cut short at each of
   its failpoints, run by several processes at once. ``test_migrate.py`` has an example.

A stamp that changes what readers must check also belongs in ``check_internal_schema``; other
modules ask this one (``older_version``, ``may_repeat_ids``) instead of comparing versions.
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
from omnigraph_l2._errors.translating import translate_errors
from omnigraph_l2._model.deadlines import MIGRATION_SECONDS, wait_seconds
from omnigraph_l2.errors import CorruptRepository, UpgradeRequired

__all__ = [
    "INTERNAL_MANIFEST_SCHEMA_VERSION",
    "STEPS",
    "check_internal_schema",
    "may_repeat_ids",
    "migrate_internal_schema",
    "older_version",
    "stamp",
    "stamp_schema",
]

INTERNAL_MANIFEST_SCHEMA_VERSION: int = 2
"""The internal schema version that this package writes, and the highest that it reads."""

Step: TypeAlias = Callable[[Table], Table]

_KEY_COLUMN: Final = "object_id"
_STAMP: Final = "omnigraph:internal_schema_version"
_WHOLE_NUMBER: Final = re.compile(rb"[1-9][0-9]{0,17}")
_UNSTAMPED: Final = 1
_ANNOTATED_FROM: Final = 2

_ROWS_IN_ONE_DELETE: Final = 1000
_LONGEST_PAUSE: Final = 0.05

_COLLAPSED = declare("l2.migrate.collapsed", "of rows that stood twice, some or all stand once")
_ANNOTATED = declare("l2.migrate.annotated", "the key is annotated, the version not yet stamped")
_STAMPED = declare("l2.migrate.stamped", "the catalog bears the stamp of the step's version")


def check_internal_schema(table: Table) -> int:
    """Return the internal schema version; raise if it cannot be read. This only reads."""
    schema = table.schema
    text = (schema.metadata or {}).get(_STAMP.encode())
    if text is None:
        return _UNSTAMPED
    if not _WHOLE_NUMBER.fullmatch(text):
        found = text.decode(errors="backslashreplace")
        detail = f"it is {found!r}, and should be a whole number from 1 on"
        raise CorruptRepository(location=_root(table), item=_where(table), detail=detail)
    version = int(text)
    if version > INTERNAL_MANIFEST_SCHEMA_VERSION:
        raise UpgradeRequired(
            location=_root(table), found=version, supported=INTERNAL_MANIFEST_SCHEMA_VERSION
        )
    if version >= _ANNOTATED_FROM and not _is_annotated(schema):
        detail = (
            f"it is {version}, but column {_KEY_COLUMN!r} does not carry the annotation "
            f"{PRIMARY_KEY.decode()!r}, without which two publishers could both win"
        )
        raise CorruptRepository(location=_root(table), item=_where(table), detail=detail)
    return version


def older_version(table: Table) -> int | None:
    """Return the version of a catalog that the next writer migrates; None if it is the newest."""
    version = check_internal_schema(table)
    return version if version < INTERNAL_MANIFEST_SCHEMA_VERSION else None


def may_repeat_ids(table: Table) -> bool:
    """Return whether equal rows may stand twice: nothing prevented that before the annotation."""
    return check_internal_schema(table) < _ANNOTATED_FROM


def migrate_internal_schema(table: Table) -> Table:
    """Migrate this branch of the catalog to the newest version; return the new handle."""
    deadline = time.monotonic() + wait_seconds(MIGRATION_SECONDS)
    with translate_errors():
        if check_internal_schema(table) == INTERNAL_MANIFEST_SCHEMA_VERSION:
            return table
        while True:
            table = table.refresh()
            version = check_internal_schema(table)
            if version == INTERNAL_MANIFEST_SCHEMA_VERSION:
                return table
            try:
                table = STEPS[version](table)
            except CommitConflict:
                # Another process writes, most likely the same migration: check how far it is.
                if time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311 - spreads, guards nothing


def stamp(table: Table, version: int) -> Table:
    """Write the version of the catalog, as the last write of a step.

    It is a fence: what a program that knows only older versions has prepared before is refused, and
    that program then finds the stamp.
    """
    table = table.fence(schema_metadata={_STAMP: str(version)}).table
    failpoint(_STAMPED)
    return table


def stamp_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a new catalog, which has the newest version."""
    own = {_STAMP.encode(): str(INTERNAL_MANIFEST_SCHEMA_VERSION).encode()}
    return schema.with_metadata({**(schema.metadata or {}), **own})


def _step_1_to_2(table: Table) -> Table:
    """Leave one row for each ``object_id``, and make the table enforce it."""
    table = _collapse_duplicates(table)
    if not _is_annotated(table.schema):
        table = table.annotate(field_metadata={_KEY_COLUMN: {PRIMARY_KEY.decode(): "true"}}).table
        failpoint(_ANNOTATED)
        # A writer that saw no annotation may have come in between: what it wrote is looked at too.
        table = _collapse_duplicates(table.refresh())
    return stamp(table, 2)


STEPS: dict[int, Step] = {1: _step_1_to_2}


def _collapse_duplicates(table: Table) -> Table:
    """Delete all but the first of equal rows; before that, raise if rows of one key differ."""
    while surplus := _surplus(table):
        listed = ", ".join(str(row_id) for row_id in surplus[:_ROWS_IN_ONE_DELETE])
        table = table.delete(f"_rowid IN ({listed})").table
        failpoint(_COLLAPSED)
    return table


def _surplus(table: Table) -> list[int]:
    """Return the rows that repeat another one.

    The choice follows from the version alone, so that two processes that collapse it at once agree.
    It is repeated after each delete, because others may have moved the rows where row ids are not
    stable.
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
        raise CorruptRepository(location=_root(table), item=f"row {object_id!r}", detail=detail)


def _is_annotated(schema: pa.Schema) -> bool:
    if _KEY_COLUMN not in schema.names:
        return False
    annotations = schema.field(_KEY_COLUMN).metadata or {}
    return annotations.get(PRIMARY_KEY) == b"true"


def _root(table: Table) -> str:
    return str(table.location).removesuffix("/__manifest")


def _where(table: Table) -> str:
    branch = "main" if table.branch is None else f"branch {table.branch!r}"
    return f"the stamp {_STAMP!r} of __manifest on {branch}"
