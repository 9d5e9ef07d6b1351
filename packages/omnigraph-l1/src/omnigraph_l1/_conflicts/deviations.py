"""Where pylance was seen to do otherwise than its specification says, each with what was seen.

Always: the tests compare this list with real meetings of operations, so it fails when pylance
changes, and when the rules do. ``conflict`` does not look here: it answers by the specification.
"""

from __future__ import annotations

from typing import Final

import attrs

from omnigraph_l1._kinds import TransactionKind as Kind
from omnigraph_l1._resolution import Resolution

__all__ = ["DEVIATIONS", "OBSERVED_WITH", "UNSPECIFIED", "Deviation"]

OBSERVED_WITH: Final = "14.0.2"
"""The version of pylance."""

UNSPECIFIED: Final = frozenset({"DataOverlay"})
"""Operations that pylance can commit and the rules do not know."""


@attrs.frozen
class Deviation:
    """Ours met theirs, in a case of a kind, and fared otherwise than the rules say.

    ``observed`` is COMPATIBLE where ours landed. ``seen`` names the meetings by the operations of
    the tests, one of ours over one or more of theirs.
    """

    ours: Kind
    theirs: tuple[Kind, ...]
    case: str = attrs.field(kw_only=True)
    specified: Resolution = attrs.field(kw_only=True)
    observed: Resolution = attrs.field(kw_only=True)
    seen: tuple[str, ...] = attrs.field(kw_only=True)


_LANDS = _COMPATIBLE = Resolution.COMPATIBLE
_REBASABLE = Resolution.REBASABLE
_RETRYABLE = Resolution.RETRYABLE
_INCOMPATIBLE = Resolution.INCOMPATIBLE

_METADATA = "schema or field metadata"

DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation(
        Kind.OVERWRITE,
        (Kind.APPEND, Kind.DELETE, Kind.UPDATE, Kind.RESTORE, Kind.RESERVE_FRAGMENTS, Kind.REWRITE,
         Kind.CREATE_INDEX, Kind.PROJECT, Kind.MERGE, Kind.UPDATE_CONFIG, Kind.DATA_REPLACEMENT,
         Kind.UPDATE_BASES),
        case="committed with `max_retries=0`; with retries it lands",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=(
            "overwrite over append, delete a, delete b, delete c, delete all of 0",
            "overwrite over upsert a, upsert c, upsert new, update column of 0, restore",
            "overwrite over compact, compact c d, reserved by hand, index, index x in 1",
            "overwrite over mem wal index, drop column, add column, config, schema metadata",
            "overwrite over replace x in 0, base p",
        ),
    ),
    Deviation(
        Kind.OVERWRITE, (Kind.UPDATE_MEM_WAL_STATE,),
        case="committed with retries",
        specified=_RETRYABLE, observed=_INCOMPATIBLE,
        seen=("overwrite with retries over mem wal state",),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.CREATE_INDEX,),
        case="two plain indexes of one name: the second does not replace the first",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=(
            "index over index", "index x in 1 over index x in 1",
            "index of one name over index of one name",
        ),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.CREATE_INDEX,),
        case="both write the same singleton index",
        specified=_REBASABLE, observed=_RETRYABLE,
        seen=(
            "mem wal index over mem wal index",
            "trim reuse index over trim reuse index (reuse index)",
        ),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.REWRITE,),
        case="overlapping fragments, although row ids are stable",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("index over compact, compact c d", "index x in 1 over compact, compact c d"),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.REWRITE,),
        case="ours writes the index of the write-ahead log, which names no fragments",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("mem wal index over compact, compact c d",),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.REWRITE,),
        case="ours writes the fragment-reuse index, theirs carries one",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=(
            "trim reuse index over deferred e f (reuse index)",
        ),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.DATA_REPLACEMENT,),
        case="the indexed field is replaced, in a fragment that the index does not cover",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("index x in 1 over replace x in 0",),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.MERGE,),
        case="ours writes the index of the write-ahead log",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=("mem wal index over add column",),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.UPDATE_MEM_WAL_STATE,),
        case="ours writes the index of the write-ahead log",
        specified=_INCOMPATIBLE, observed=_LANDS, seen=("mem wal index over mem wal state",),
    ),
    Deviation(
        Kind.REWRITE, (Kind.CREATE_INDEX,),
        case="overlapping fragments, although row ids are stable",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("compact over index, index x in 1", "compact c d over index, index x in 1"),
    ),
    Deviation(
        Kind.REWRITE, (Kind.CREATE_INDEX,),
        case="theirs writes the index of the write-ahead log, which names no fragments",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("compact over mem wal index", "compact c d over mem wal index"),
    ),
    Deviation(
        Kind.REWRITE, (Kind.CREATE_INDEX,),
        case="ours carries a fragment-reuse index, and joins fragments of which theirs covers some",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("deferred c d over index x in 1 (unstable row ids)",),
    ),
    Deviation(
        Kind.MERGE, (Kind.CREATE_INDEX,),
        case="theirs writes the index of the write-ahead log",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=("add column over mem wal index",),
    ),
    Deviation(
        Kind.MERGE, (Kind.UPDATE_CONFIG,),
        case=f"theirs sets {_METADATA}",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("add column over schema metadata, field metadata",),
    ),
    Deviation(
        Kind.RESTORE, (Kind.UPDATE_CONFIG,),
        case=f"theirs sets {_METADATA}",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=("restore over schema metadata, field metadata",),
    ),
    Deviation(
        Kind.DELETE, (Kind.UPDATE,),
        case="theirs replaces a column of a fragment of ours; other rows",
        specified=_REBASABLE, observed=_RETRYABLE, seen=("delete b over update column of 0",),
    ),
    Deviation(
        Kind.UPDATE, (Kind.DELETE, Kind.UPDATE),
        case="ours replaces a column of a fragment of theirs; other rows",
        specified=_REBASABLE, observed=_RETRYABLE,
        seen=("update column of 0 over delete b, upsert b",),
    ),
    Deviation(
        Kind.UPDATE, (Kind.PROJECT,),
        case="theirs drops the column that ours replaces",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=("update column of 0 over drop column",),
    ),
    Deviation(
        Kind.UPDATE, (Kind.APPEND,),
        case="ours is a merge-insert on the annotated key, whatever keys are inserted",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=("insert k over append (key annotated)",),
    ),
    Deviation(
        Kind.UPDATE, (Kind.UPDATE,),
        case="ours is a merge-insert on the annotated key, theirs is not; nothing in common",
        specified=_REBASABLE, observed=_RETRYABLE, seen=("insert k over update a (key annotated)",),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.OVERWRITE,),
        case="ours sets configuration or table metadata only, and theirs neither",
        specified=_INCOMPATIBLE, observed=_LANDS,
        seen=(
            "config over overwrite, overwrite with retries", "table metadata over overwrite",
        ),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.UPDATE_CONFIG,),
        case="both set schema metadata, under different keys",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=(
            "schema metadata over schema metadata j", "schema metadata j over schema metadata",
        ),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.MERGE,),
        case=f"ours sets {_METADATA}",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=("schema metadata over add column", "field metadata over add column"),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.RESTORE,),
        case=f"ours sets {_METADATA}",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=("schema metadata over restore", "field metadata over restore"),
    ),
    Deviation(
        Kind.DATA_REPLACEMENT, (Kind.DELETE,),
        case="theirs drops a fragment of ours as a whole",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=("replace x in 0 over delete all of 0",),
    ),
    Deviation(
        Kind.DATA_REPLACEMENT, (Kind.UPDATE,),
        case="theirs drops a fragment of ours as a whole",
        specified=_RETRYABLE, observed=_INCOMPATIBLE,
        seen=("replace x in 0 over update all of 0",),
    ),
    Deviation(
        Kind.DATA_REPLACEMENT, (Kind.PROJECT,),
        case="theirs drops the column that ours replaces",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=("replace x in 0 over drop column",),
    ),
)  # fmt: skip
