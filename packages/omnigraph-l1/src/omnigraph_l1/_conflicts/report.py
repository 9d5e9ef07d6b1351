"""The table of rules as a page for users: ``docs/lance-transactions.md``.

Always: the page is exactly what this module makes of the data; a test compares. Written anew by
``python -m omnigraph_l1._conflicts.report > docs/lance-transactions.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import product
from typing import Final

from omnigraph_l1._conflicts.coverage import BY_HAND, NOT_RUN, RUN, NotRun
from omnigraph_l1._conflicts.deviations import DEVIATIONS, OBSERVED_WITH, UNSPECIFIED
from omnigraph_l1._conflicts.evaluating import conflict, rules_between
from omnigraph_l1._conflicts.facts import Fact
from omnigraph_l1._conflicts.rules import ALWAYS, RULES, Clause, Condition
from omnigraph_l1._kinds import TransactionKind
from omnigraph_l1._resolution import Resolution

__all__ = ["page"]

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

<!-- Generated: python -m omnigraph_l1._conflicts.report > docs/lance-transactions.md -->

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
about it, so `conflict` calls it compatible: do not rely on that.

pylance can also commit what the rules do not know: {unknown}.
"""


def page() -> str:
    """Make the whole page."""
    operations = ((kind.value, kind.summary, kind.again) for kind in TransactionKind)
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
    kinds = tuple(TransactionKind)
    numbers = {kind: str(number) for number, kind in enumerate(kinds, start=1)}
    letters = {pair: _letter(*pair) for pair in product(kinds, kinds)}
    rows = (
        (f"{numbers[ours]} {ours.value}", *(letters[ours, theirs] for theirs in kinds))
        for ours in kinds
    )
    return _table(("", *numbers.values()), rows)


def _letter(ours: TransactionKind, theirs: TransactionKind) -> str:
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
        (_told(one.ours), _told(one.theirs), _what(one), one.reason)
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


def _told(kinds: tuple[TransactionKind, ...]) -> str:
    left_out = [kind for kind in TransactionKind if kind not in kinds]
    if len(left_out) > 1:
        return _named(kinds)
    return f"all but {_named(left_out)}" if left_out else "all"


def _named(kinds: Iterable[TransactionKind]) -> str:
    return ", ".join(kind.value for kind in kinds)


if __name__ == "__main__":
    sys.stdout.write(page())
