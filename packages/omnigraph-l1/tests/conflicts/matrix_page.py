"""The conflict matrix as a page for users, docs/lance-transactions.md, with what was run of it.

Invariant: the page is exactly what this module prints; a test compares. To write it again:
``python packages/omnigraph-l1/tests/conflicts/matrix_page.py > docs/lance-transactions.md``.

``DEVIATIONS`` lists where pylance was seen to differ from its specification. The tests compare it
with real meetings of operations, so it fails when pylance or the rules change. ``conflict`` does
not read it. ``NOT_RUN`` lists what cannot be run; everything else has been run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import product
from typing import Final

import attrs

from omnigraph_l1 import Resolution, conflict
from omnigraph_l1 import TransactionKind as Kind
from omnigraph_l1._conflict_matrix import ALWAYS, RULES, Clause, Condition, Fact, rules_between

RUN: Final = (696, 45)
"""How many meetings were run, of how many operations."""

BY_HAND: Final = (Kind.UPDATE_MEM_WAL_STATE, Kind.RESERVE_FRAGMENTS)
"""Theirs that no call of pylance commits alone: the record of a harmless commit was changed."""


@attrs.frozen
class NotRun:
    """Pairs that cannot be run, or a condition that cannot be brought about with a pair.

    Of a condition, ``fact`` is the one that cannot be otherwise, or None where the condition
    itself cannot be fulfilled.
    """

    ours: tuple[Kind, ...]
    theirs: tuple[Kind, ...]
    reason: str = attrs.field(kw_only=True)
    condition: str = attrs.field(kw_only=True, default="")
    """Which condition, by the facts that it needs; empty where the pair cannot be run at all."""
    fact: Fact | None = attrs.field(kw_only=True, default=None)


_EVERY: Final = tuple(Kind)
_FOLLOWS: Final = "without a fragment in common no rows are the same"

NOT_RUN: Final[tuple[NotRun, ...]] = (
    NotRun(
        (Kind.CLONE,), _EVERY,
        reason="a Clone is refused wherever there is a dataset, whatever came first",
    ),
    NotRun(
        tuple(kind for kind in Kind if kind is not Kind.CLONE), (Kind.CLONE,),
        reason="a Clone is the first version of its dataset: nothing is computed on one before",
    ),
    NotRun(
        (Kind.UPDATE_MEM_WAL_STATE,),
        tuple(kind for kind in Kind if kind is not Kind.CLONE),
        reason="no call of pylance commits it, so that it can be theirs only, written by hand",
    ),
    NotRun(
        (Kind.DELETE, Kind.UPDATE), (Kind.DELETE, Kind.UPDATE),
        condition="overlap, same_rows", fact=Fact.OVERLAP, reason=_FOLLOWS,
    ),
    NotRun(
        (Kind.DELETE,), (Kind.MERGE,),
        condition="overlap", fact=Fact.OVERLAP, reason="a Merge lists all fragments of the table",
    ),
    NotRun(
        (Kind.OVERWRITE,), (Kind.UPDATE_CONFIG,),
        condition="same_key", reason="no call of pylance lets an Overwrite set configuration",
    ),
)  # fmt: skip


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


_LETTERS: Final = {
    Resolution.COMPATIBLE: "·",
    Resolution.REBASABLE: "b",
    Resolution.RETRYABLE: "r",
    Resolution.INCOMPATIBLE: "X",
}

_NOUNS: Final = {
    Fact.OVERLAP: "overlapping fragments",
    Fact.SAME_ROWS: "the same rows",
    Fact.SAME_KEY: "the same key",
    Fact.SAME_FIELD: "the same field",
    Fact.INDEXED_FIELD: "an index on the replaced field",
    Fact.STABLE_ROW_IDS: "stable row ids",
    Fact.OUR_REUSE_INDEX: "fragment-reuse index in ours",
    Fact.THEIR_REUSE_INDEX: "fragment-reuse index in theirs",
    Fact.SAME_INDEX: "the same singleton index",
    Fact.SAME_BASE: "a base of the same id, name or path",
}

_INTRODUCTION: Final = """\
# When two transactions meet

<!-- Generated by packages/omnigraph-l1/tests/conflicts/matrix_page.py -->

A Lance commit is computed on one version. When another commit comes first, Lance decides whether
the later one still stands. Its specification says so for each pair of operations; this page is
that specification, as `omnigraph_l1` has it in code, and then what pylance was seen to do
otherwise.

```python
from omnigraph_l1 import ConflictFacts, Resolution, TransactionKind, conflict

ours, theirs = TransactionKind.DELETE, TransactionKind.REWRITE
assert conflict(ours, theirs) is Resolution.RETRYABLE
assert conflict(ours, theirs, ConflictFacts(overlap=False)) is Resolution.COMPATIBLE
```

*Ours* is about to commit; *theirs* has committed since the version that ours was computed on. The
order matters: an Append is refused over an Overwrite, not the other way round. A fact that you
leave out is unknown, and gives the worse of the outcomes that are still possible. A pair that is
not listed is compatible.
"""

_GRID_LEGEND: Final = """\
Ours are the lines, theirs the columns, under the numbers of the lines. Each letter is the worst
outcome of its pair; with a ?, it depends on facts, and the rules say on which.
"""

_RULES_LEGEND: Final = """\
Where several hold, the worst outcome counts. A pair without a rule is compatible.
"""

_DEVIATIONS_LEGEND: Final = """\
Each line was seen: two handles were opened at one version, and committed one after the other.
`conflict` does not know these lines; it answers by the specification. The tests of
`omnigraph-l1` repeat the meetings, and fail when pylance or the rules change.

Landing as it is and being rebased look the same from outside: both are *lands* here.
"""

_DEVIATIONS_NOTE: Final = """\
Newer text of the specification tells of a DataReplacement whose fragment is gone what is seen here.
"""

_RUN_LEGEND: Final = """\
The operations were done in {operations} ways, and {meetings} pairs of these met for real: each
ordered pair of operations, and each condition of each rule, fulfilled, and not fulfilled for each
of its facts alone. The tests count them. What they leave out, because it cannot be:
"""

_RUN_NOTE: Final = """\
No call of pylance commits {by_hand} alone. As theirs, the record of
another commit was changed by hand, which is all that Lance looks at. As ours, a ReserveFragments
is the first half of a compaction; UpdateMemWalState was never seen, and the specification is silent
about it, so `conflict` never calls it compatible.

pylance can also commit what the rules do not know: {unknown}.
"""


def page() -> str:
    """Make the whole page."""
    operations = ((kind.value, kind.summary, kind.again) for kind in Kind)
    questions = ((f"`{fact.value}`", fact.question) for fact in Fact)
    advice = ((_LETTERS[one], one.value, one.advice) for one in Resolution)
    sections = (
        _INTRODUCTION,
        "## Outcomes\n",
        _table(("", "outcome", "what you do"), advice),
        "## Operations\n",
        _table(("operation", "what it does", "computed again after a conflict, it …"), operations),
        "## Facts\n",
        _table(("fact", "question"), questions),
        "## All pairs\n",
        _GRID_LEGEND,
        _grid(),
        "## Rules\n",
        _RULES_LEGEND,
        _rules(),
        f"## What pylance {OBSERVED_WITH} does otherwise\n",
        _DEVIATIONS_LEGEND,
        _deviations(),
        _DEVIATIONS_NOTE,
        "## What was run\n",
        _RUN_LEGEND.format(meetings=RUN[0], operations=RUN[1]),
        _not_run(),
        _RUN_NOTE.format(
            by_hand=" or ".join(kind.value for kind in BY_HAND),
            unknown=", ".join(sorted(UNSPECIFIED)),
        ),
    )
    return "\n".join(sections)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    every = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in every)


def _grid() -> str:
    kinds = tuple(Kind)
    numbers = {kind: str(number) for number, kind in enumerate(kinds, start=1)}
    letters = {pair: _letter(*pair) for pair in product(kinds, kinds)}
    rows = (
        (f"{numbers[ours]} {ours.value}", *(letters[ours, theirs] for theirs in kinds))
        for ours in kinds
    )
    return _table(("", *numbers.values()), rows)


def _letter(ours: Kind, theirs: Kind) -> str:
    worst = conflict(ours, theirs)
    sure = worst is Resolution.COMPATIBLE or any(
        rule.then is worst and rule.when == ALWAYS for rule in rules_between(ours, theirs)
    )
    return _LETTERS[worst] + ("" if sure else "?")


def _rules() -> str:
    rows = (
        (rule.ours.value, _named(rule.theirs), _condition(rule.when), rule.then.value)
        for rule in RULES
    )
    return _table(("ours", "theirs", "where there is", "outcome"), rows)


def _condition(condition: Condition) -> str:
    return "always" if condition == ALWAYS else "; or ".join(map(_clause, condition))


def _clause(clause: Clause) -> str:
    wanted = [_NOUNS[fact] for fact in clause.needs]
    return " and ".join((*wanted, *(f"no {_NOUNS[fact]}" for fact in clause.excludes)))


def _deviations() -> str:
    rows = (
        (
            one.ours.value, _named(one.theirs), one.case, one.specified.value,
            "lands" if one.observed is Resolution.COMPATIBLE else one.observed.value,
            "; ".join(one.seen),
        )
        for one in DEVIATIONS
    )  # fmt: skip
    return _table(("ours", "theirs", "case", "specified", "seen", "meetings"), rows)


def _not_run() -> str:
    rows = (
        (_summarize(one.ours), _summarize(one.theirs), _what(one), one.reason)
        for one in NOT_RUN
    )  # fmt: skip
    return _table(("ours", "theirs", "what", "why"), rows)


def _what(one: NotRun) -> str:
    if not one.condition:
        return "the pair"
    nouns = [_NOUNS[Fact(name)] for name in one.condition.split(", ")]
    if one.fact is None:
        return " and ".join(nouns)
    without = _NOUNS[one.fact]
    kept = [noun for noun in nouns if noun != without]
    return " and ".join([*kept, f"no {without}"])


def _summarize(kinds: tuple[Kind, ...]) -> str:
    left_out = [kind for kind in Kind if kind not in kinds]
    if len(left_out) > 1:
        return _named(kinds)
    return f"all but {_named(left_out)}" if left_out else "all"


def _named(kinds: Iterable[Kind]) -> str:
    return ", ".join(kind.value for kind in kinds)


if __name__ == "__main__":
    sys.stdout.write(page())
