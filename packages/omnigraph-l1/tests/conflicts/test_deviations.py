"""The rules against what pylance does: they agree, but for the deviations that are listed.

Fails when pylance changes, when a rule changes, and when a deviation is listed that is none.
"""

from __future__ import annotations

from pathlib import Path

import lance
import pytest
from lance import LanceDataset, LanceOperation

from omnigraph_l1 import Resolution, TransactionKind, classify
from omnigraph_l1._conflicts.deviations import (
    DEVIATIONS,
    NEVER_COMMITTED,
    OBSERVED_WITH,
    UNSPECIFIED,
)

from ..substrate._support import KEYED, PLAIN, again, append, people  # noqa: TID252
from ..substrate.test_conflict_matrix import MATRIX, OPERATIONS, VERDICTS  # noqa: TID252
from .meetings import MORE, STEPS, TOUCHED, UNSTABLE, lands, specified


def _base(place: Path, *, keyed: bool = False, stable_row_ids: bool = True) -> LanceDataset:
    first = lance.write_dataset(
        people("a", "b", schema=KEYED if keyed else PLAIN),
        str(place),
        data_storage_version="2.2",
        enable_stable_row_ids=stable_row_ids,
    )
    return append(first, "c")


def _meet(base: LanceDataset, ours: str, theirs: str) -> Resolution:
    mine, other = again(base), again(base)
    STEPS[theirs](other)
    try:
        STEPS[ours](mine)
    except Exception as error:
        outcome = classify(error)
        if outcome is None:
            raise
        return outcome
    return Resolution.COMPATIBLE


def _in_the_matrix() -> dict[tuple[str, str], Resolution]:
    """Read what the substrate's matrix saw: its lines are theirs, its columns ours."""
    seen = {letter: _meaning(verdict) for letter, verdict in VERDICTS.items()}
    return {
        (ours, theirs): seen[letter]
        for theirs, line in MATRIX.items()
        for ours, letter in zip(OPERATIONS, line.split(), strict=True)
    }


def _meaning(verdict: tuple[str, str, bool | None] | None) -> Resolution:
    if verdict is None:
        return Resolution.COMPATIBLE
    outcome = classify(OSError(verdict[1]))
    assert outcome is not None
    return outcome


def test_rules_and_pylance_differ_where_it_is_listed_and_nowhere_else() -> None:
    """All meetings, of the matrix and of those here: the rules tell how each ended, or it is in
    the list of deviations with what is specified and what was seen.
    """
    seen = {**_in_the_matrix(), **MORE}
    found = {
        meeting: (specified(*meeting), outcome)
        for meeting, outcome in seen.items()
        if specified(*meeting) is not outcome
        and not (lands(outcome) and lands(specified(*meeting)))
    }
    listed = {meeting: (one.specified, one.observed) for one in DEVIATIONS for meeting in one.seen}
    assert found == listed


def test_without_stable_row_ids_the_rules_on_rewrites_hold() -> None:
    """Indexes and compactions with and without a fragment-reuse index: no deviation."""
    for meeting, outcome in UNSTABLE.items():
        ruled = specified(*meeting, stable_row_ids=False)
        assert ruled is outcome or (lands(ruled) and lands(outcome)), meeting


@pytest.mark.parametrize("meeting", MORE, ids=" over ".join)
def test_a_meeting_ends_as_it_was_seen(meeting: tuple[str, str], tmp_path: Path) -> None:
    """What is not in the matrix, done for real. A merge-insert looks at inserted keys only where
    the key is annotated.
    """
    keyed = any("insert" in name for name in meeting)
    assert _meet(_base(tmp_path / "t", keyed=keyed), *meeting) is MORE[meeting]


@pytest.mark.parametrize("meeting", UNSTABLE, ids=" over ".join)
def test_a_meeting_without_stable_row_ids(meeting: tuple[str, str], tmp_path: Path) -> None:
    """Likewise, with an index for a compaction to defer."""
    base = _base(tmp_path / "t", stable_row_ids=False)
    base.create_scalar_index("x", "BTREE")
    assert _meet(base, *meeting) is UNSTABLE[meeting]


@pytest.mark.parametrize("name", TOUCHED)
def test_an_operation_is_of_the_kind_that_it_is_taken_for(name: str, tmp_path: Path) -> None:
    """Lance's own record of the commit says which. pylance shows two kinds only as unknown."""
    nameless = {TransactionKind.RESERVE_FRAGMENTS, TransactionKind.UPDATE_BASES}
    stable = name != "deferred compact"
    base = _base(tmp_path / "t", keyed="insert" in name, stable_row_ids=stable)
    STEPS[name](again(base))
    done = again(base)
    records = [done.read_transaction(version) for version in range(3, done.version + 1)]
    found = [type(one.operation).__name__ for one in records if one]
    expected = TOUCHED[name].kinds
    assert found == ["BaseOperation" if one in nameless else one.value for one in expected]


def test_deviations_name_the_kinds_that_met() -> None:
    """Each meeting is of the kinds of its deviation, and all of them are there. What a compaction
    reserves stands in nobody's way.
    """
    harmless = {TransactionKind.RESERVE_FRAGMENTS}
    for one in DEVIATIONS:
        met = {kind for _, theirs in one.seen for kind in TOUCHED[theirs].kinds}
        assert met - harmless == set(one.theirs) - harmless
        assert all(TOUCHED[ours].kinds[-1] is one.ours for ours, _ in one.seen)
        assert one.specified is not one.observed


def test_operations_are_all_known() -> None:
    """Every operation that pylance can write is a kind, or listed as one that the rules lack."""
    parts = {"BaseOperation", "DataOverlayFile", "DataOverlayGroup", "DataReplacementGroup",
             "RewriteGroup", "RewrittenIndex", "UpdateMap"}  # fmt: skip
    members = {name for name, one in vars(LanceOperation).items() if isinstance(one, type)}
    assert parts <= members
    assert members - parts - {kind.value for kind in TransactionKind} == UNSPECIFIED
    assert not {kind.value for kind in NEVER_COMMITTED} & members


def test_the_version_that_was_looked_at_is_the_one_that_runs() -> None:
    """The page names it: after an upgrade, look at the deviations again, then change it."""
    assert lance.__version__ == OBSERVED_WITH
