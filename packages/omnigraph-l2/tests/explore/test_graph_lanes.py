"""Lines run from each commit to its parents, and to nothing else, whatever the history is.

The lanes are computed from commits alone, for some hundred drawn histories.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l2._explore.graph_lanes import Lanes


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, list[str], bool]]:
    """Draw commits, newest first, each with its parents (among the older ones, or not shown)."""
    count = draw(st.integers(1, 30))
    found: list[tuple[str, list[str], bool]] = []
    main = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    for number in range(count):
        # Commits of main follow each other; others come from anywhere.
        older = [str(each) for each in range(number + 1, count + 1)]
        on_main = [each for each in older if each == str(count) or main[int(each)]]
        first = on_main[0] if main[number] else draw(st.sampled_from(older))
        parents = [first]
        others = [each for each in older if each != first]
        if others and draw(st.booleans()):
            parents.append(draw(st.sampled_from(others)))
        found.append((str(number), parents, main[number]))
    return found


@given(histories())
def test_lines_lead_from_commits_to_their_parents(
    history: list[tuple[str, list[str], bool]],
) -> None:
    """Each line that leaves a commit stays in its lane, row by row, until it ends in the parent."""
    lanes = Lanes()
    places = {}
    running: dict[int, str] = {}
    for commit_id, parents, main in history:
        place = lanes.place(commit_id, [(each, 0) for each in parents], main=main)
        ending = {lane for lane, target in running.items() if target == commit_id}
        assert {lane for lane, _ in place.above} == ending
        assert {lane for lane, _ in place.through} == set(running) - ending
        assert place.lane == 0 if main else True
        assert place.lane in ending or place.lane not in running
        for lane in ending:
            del running[lane]
        assert len(place.below) == len(parents)
        for parent, (lane, _) in zip(parents, place.below, strict=True):
            assert running.setdefault(lane, parent) == parent
        places[commit_id] = place


def test_a_parent_that_was_drawn_already_gets_no_line() -> None:
    """Where the clocks of two writers disagree, no line runs on to the end for ever."""
    lanes = Lanes()
    lanes.place("parent", [], main=True)
    child = lanes.place("child", [("parent", 0)], main=False)
    assert child.below == ()
    after = lanes.place("other", [], main=False)
    assert after.through == ()
