"""Where pylance was seen to do otherwise than its specification says, each with what was seen.

Always: the tests compare this list with real meetings of operations, so it fails when pylance
changes, and when the rules do. ``conflict`` does not look here: it answers by the specification.
"""

from __future__ import annotations

from typing import Final

import attrs

from omnigraph_l1._kinds import TransactionKind as Kind
from omnigraph_l1._resolution import Resolution

__all__ = ["DEVIATIONS", "NEVER_COMMITTED", "OBSERVED_WITH", "UNSPECIFIED", "Deviation"]

OBSERVED_WITH: Final = "14.0.2"
"""The version of pylance."""

UNSPECIFIED: Final = frozenset({"DataOverlay"})
"""Operations that pylance can commit and the rules do not know."""

NEVER_COMMITTED: Final = frozenset({Kind.UPDATE_MEM_WAL_STATE})
"""Operations for which no call of pylance was found, so that nothing was seen of them."""


@attrs.frozen
class Deviation:
    """Ours met theirs, in a case of a kind, and fared otherwise than the rules say.

    ``observed`` is COMPATIBLE where ours landed. ``seen`` names the meetings, ours first, by the
    operations of the tests.
    """

    ours: Kind
    theirs: tuple[Kind, ...]
    case: str = attrs.field(kw_only=True)
    specified: Resolution = attrs.field(kw_only=True)
    observed: Resolution = attrs.field(kw_only=True)
    seen: tuple[tuple[str, str], ...] = attrs.field(kw_only=True)


_LANDS = _COMPATIBLE = Resolution.COMPATIBLE
_REBASABLE = Resolution.REBASABLE
_RETRYABLE = Resolution.RETRYABLE
_INCOMPATIBLE = Resolution.INCOMPATIBLE

_METADATA = "schema or field metadata"
_OVERWRITTEN = (
    "append", "delete a", "delete b", "update a", "upsert a", "upsert b", "upsert new", "restore",
    "compact", "index", "drop column", "add column", "config", "schema metadata",
)  # fmt: skip

DEVIATIONS: Final[tuple[Deviation, ...]] = (
    Deviation(
        Kind.OVERWRITE,
        (Kind.APPEND, Kind.DELETE, Kind.UPDATE, Kind.RESTORE, Kind.RESERVE_FRAGMENTS, Kind.REWRITE,
         Kind.CREATE_INDEX, Kind.PROJECT, Kind.MERGE, Kind.UPDATE_CONFIG),
        case="committed with `max_retries=0`; with retries it lands",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=tuple(("overwrite", theirs) for theirs in _OVERWRITTEN),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.CREATE_INDEX,),
        case="two plain indexes of one name: the second does not replace the first",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=(("index", "index"),),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.REWRITE,),
        case="overlapping fragments, although row ids are stable",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=(("index", "compact"),),
    ),
    Deviation(
        Kind.CREATE_INDEX, (Kind.DATA_REPLACEMENT,),
        case="the indexed field is replaced, in a fragment that the index does not cover",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=(("index x in 1", "replace x in 0"),),
    ),
    Deviation(
        Kind.REWRITE, (Kind.CREATE_INDEX,),
        case="overlapping fragments, although row ids are stable",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=(("compact", "index"),),
    ),
    Deviation(
        Kind.MERGE, (Kind.UPDATE_CONFIG,),
        case=f"theirs sets {_METADATA}",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=(("add column", "schema metadata"), ("add column", "field metadata")),
    ),
    Deviation(
        Kind.RESTORE, (Kind.UPDATE_CONFIG,),
        case=f"theirs sets {_METADATA}",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=(("restore", "schema metadata"), ("restore", "field metadata")),
    ),
    Deviation(
        Kind.UPDATE, (Kind.APPEND,),
        case="ours is a merge-insert on the annotated key, whatever keys are inserted",
        specified=_COMPATIBLE, observed=_RETRYABLE, seen=(("insert k", "append"),),
    ),
    Deviation(
        Kind.UPDATE, (Kind.UPDATE,),
        case="ours is a merge-insert on the annotated key, theirs is not; nothing in common",
        specified=_REBASABLE, observed=_RETRYABLE, seen=(("insert k", "update a"),),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.OVERWRITE,),
        case="ours sets configuration or table metadata only, and theirs neither",
        specified=_INCOMPATIBLE, observed=_LANDS,
        seen=(("config", "overwrite"), ("table metadata", "overwrite")),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.UPDATE_CONFIG,),
        case="both set schema metadata, under different keys",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=(("schema metadata j", "schema metadata"),),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.MERGE,),
        case=f"ours sets {_METADATA}",
        specified=_COMPATIBLE, observed=_RETRYABLE,
        seen=(("schema metadata", "add column"), ("field metadata", "add column")),
    ),
    Deviation(
        Kind.UPDATE_CONFIG, (Kind.RESTORE,),
        case=f"ours sets {_METADATA}",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=(("schema metadata", "restore"), ("field metadata", "restore")),
    ),
    Deviation(
        Kind.DATA_REPLACEMENT, (Kind.DELETE,),
        case="theirs drops a fragment of ours as a whole",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=(("replace x in 0", "delete all of 0"),),
    ),
    Deviation(
        Kind.DATA_REPLACEMENT, (Kind.UPDATE,),
        case="theirs drops a fragment of ours as a whole",
        specified=_RETRYABLE, observed=_INCOMPATIBLE,
        seen=(("replace x in 0", "update all of 0"),),
    ),
    Deviation(
        Kind.DATA_REPLACEMENT, (Kind.PROJECT,),
        case="theirs drops the column that ours replaces",
        specified=_COMPATIBLE, observed=_INCOMPATIBLE,
        seen=(("replace x in 0", "drop column"),),
    ),
)  # fmt: skip
