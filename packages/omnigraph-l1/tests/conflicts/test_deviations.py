"""The rules against what pylance does: they agree, but for the deviations that are listed.

Fails when pylance changes, when a rule changes, and when a deviation is listed that is none.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import lance
import pytest
from lance import LanceDataset, LanceOperation

from omnigraph_l1 import Resolution, Table, TransactionKind

from .covering import covered, wanted
from .matrix_page import BY_HAND, DEVIATIONS, NOT_RUN, OBSERVED_WITH, RUN, UNSPECIFIED
from .meetings import MEETINGS, Meeting, Scene, lands, meet, stage
from .operations import EVERYWHERE, OPERATIONS

MEETINGS_OF = defaultdict(list)
for _meeting in MEETINGS:
    MEETINGS_OF[_meeting.ours].append(_meeting)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> dict[Scene, Path]:
    """A dataset for each scene, to be copied."""
    root = tmp_path_factory.mktemp("scenes")
    for scene in Scene:
        stage(root / scene.name, scene)
    return {scene: root / scene.name for scene in Scene}


@pytest.fixture
def location(tmp_path: Path) -> Iterator[Path]:
    """Where a meeting takes place; removed, because there are many."""
    yield tmp_path / "t"
    shutil.rmtree(tmp_path / "t", ignore_errors=True)


def _listed() -> Iterator[tuple[str, tuple[Resolution, Resolution]]]:
    """Return each meeting that deviates, with what is specified and what was seen."""
    for one in DEVIATIONS:
        for line in one.seen:
            names, mark, scene = line.partition(" (")
            ours, _, others = names.partition(" over ")
            for theirs in others.split(", "):
                yield f"{ours} over {theirs}{mark}{scene}", (one.specified, one.observed)


LISTED = dict(_listed())


@pytest.mark.parametrize("ours", MEETINGS_OF)
def test_all_ends_as_specified_or_as_it_is_listed(
    ours: str, scenes: dict[Scene, Path], location: Path
) -> None:
    """Each meeting, for real: it ends as the rules say, or deviates just as the list says."""
    wrong = {}
    for meeting in MEETINGS_OF[ours]:
        shutil.copytree(scenes[meeting.scene], location)
        found = meet(location, meeting)
        shutil.rmtree(location)
        specified, expected = LISTED.get(str(meeting), (meeting.specified,) * 2)
        assert specified is meeting.specified, f"{meeting}: the rules say {meeting.specified} now"
        if found is not expected and not (lands(found) and lands(expected)):
            wrong[str(meeting)] = (expected.value, found.value)
    assert wrong == {}


def test_the_list_holds_nothing_else() -> None:
    """Each deviation was met, is of the kinds that it names, and does deviate."""
    by_name = {str(meeting): meeting for meeting in MEETINGS}
    assert set(LISTED) <= set(by_name)
    assert len(list(_listed())) == len(LISTED)
    for one in DEVIATIONS:
        alike = lands(one.specified) and lands(one.observed)
        assert one.specified is not one.observed
        assert not alike
    for one in DEVIATIONS:
        met = [by_name[name] for name, _ in _listed() if name in _names_of(one.seen)]
        assert {meeting.pairs[-1][0] for meeting in met} == {one.ours}
        assert {meeting.pairs[-1][1] for meeting in met} == set(one.theirs)


def _names_of(seen: tuple[str, ...]) -> set[str]:
    names = set()
    for line in seen:
        both, mark, scene = line.partition(" (")
        ours, _, others = both.partition(" over ")
        names |= {f"{ours} over {theirs}{mark}{scene}" for theirs in others.split(", ")}
    return names


def test_each_pair_and_each_condition_both_ways_was_run() -> None:
    """But for what is told as not run, with its reason; and that is not run indeed."""
    pairs, conditions = covered(MEETINGS)
    kinds = list(TransactionKind)
    told = [pair for one in NOT_RUN if not one.condition for pair in product(one.ours, one.theirs)]
    assert set(product(kinds, kinds)) - pairs == set(told)
    assert len(told) == len(set(told))
    without = {
        (ours, theirs, one.condition, one.fact)
        for one in NOT_RUN
        if one.condition
        for ours, theirs in product(one.ours, one.theirs)
    }
    assert wanted() - conditions == without
    assert all(one.reason for one in NOT_RUN)


def test_the_page_says_how_many_were_run() -> None:
    """Counted here."""
    assert (
        len(MEETINGS),
        len({one for each in MEETINGS for one in (each.ours, each.theirs)}),
    ) == RUN
    assert {one.ours for one in MEETINGS} | {one.theirs for one in MEETINGS} == set(OPERATIONS)
    assert len(MEETINGS) > len(EVERYWHERE) ** 2 // 2


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_of_the_kind_that_it_is_taken_for(
    name: str, scenes: dict[Scene, Path], location: Path
) -> None:
    """Lance's own record of the commit says which, also where it was written by hand."""
    scene = Scene.KEYED if "insert" in name else Scene.STABLE
    if "deferred" in name:
        scene = Scene.PLAIN
    if "reuse" in name:
        scene = Scene.REUSE
    shutil.copytree(scenes[scene], location)
    before = lance.dataset(str(location)).version
    OPERATIONS[name].step(lance.dataset(str(location)))
    table = Table.open(location)
    records = list(table.history(limit=table.version - before))[::-1]
    kinds = tuple(record.kind for record in records)
    if name == "reserve":
        kinds = kinds[:1]  # the compaction that it is part of
    assert kinds == OPERATIONS[name].kinds


def test_what_a_handle_was_opened_on_is_what_both_met_on(
    scenes: dict[Scene, Path], location: Path
) -> None:
    """Theirs comes between: both were computed on one version, and two are made."""
    shutil.copytree(scenes[Scene.STABLE], location)
    before = lance.dataset(str(location)).version
    assert meet(location, Meeting("append", "delete a")) is Resolution.COMPATIBLE
    records = list(Table.open(location).history(limit=2))
    assert [record.operation for record in records] == ["Append", "Delete"]
    assert [record.version for record in records] == [before + 2, before + 1]
    assert [record.read_version for record in records] == [before, before]


def test_a_clone_is_refused_over_a_dataset(scenes: dict[Scene, Path], location: Path) -> None:
    """Whatever came first: it stands as not run for that. Nothing is committed."""
    shutil.copytree(scenes[Scene.STABLE], location)
    handle = lance.dataset(str(location))
    clone = LanceOperation.Clone(True, None, 1, str(scenes[Scene.PLAIN]), None)
    with pytest.raises(OSError, match="Clone operation should not enter build_manifest"):
        LanceDataset.commit(handle, clone, read_version=handle.version, max_retries=0)
    assert lance.dataset(str(location)).version == handle.version


def test_operations_are_all_known() -> None:
    """Every operation that pylance can write is a kind, or listed as one that the rules lack."""
    parts = {"BaseOperation", "DataOverlayFile", "DataOverlayGroup", "DataReplacementGroup",
             "RewriteGroup", "RewrittenIndex", "UpdateMap"}  # fmt: skip
    members = {name for name, one in vars(LanceOperation).items() if isinstance(one, type)}
    assert parts <= members
    assert members - parts - {kind.value for kind in TransactionKind} == UNSPECIFIED
    assert not {kind.value for kind in BY_HAND} & members


def test_the_version_that_was_looked_at_is_the_one_that_runs() -> None:
    """The page names it: after an upgrade, look at the deviations again, then change it."""
    assert lance.__version__ == OBSERVED_WITH
