"""The state machine of a whole graph: branches, tags, merges, runs, upkeep, beside a plain model.

Invariant: an example begins with a new repository, and ends with all of it compared and verified.
"""

# ruff: noqa: PLR0917 - hypothesis calls rules by name

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from campaign.graph_model import repository_moves as moves
from campaign.graph_model.graph_states import START, schema_of
from campaign.graph_model.repository_world import NAMES, World
from omnigraph_l2 import GraphSchema, Repository

__all__ = ["Fresh", "run_graph_against_model"]

Fresh = Callable[[GraphSchema], tuple[Repository, Repository]]

_STEPS = 25
_turns = st.integers(0, 1)
_some = st.integers(0, 5)
_names = st.sampled_from(NAMES)
_tags = st.sampled_from(["v1", "v2"])
_small = st.integers(0, 2)
_tables, _rows = st.integers(0, 3), st.integers(0, 3)
_changes = st.lists(st.tuples(_tables, _rows, _small, _small), min_size=1, max_size=5)
_kinds = st.sampled_from(["append", "upsert", "delete", "overwrite"])
_operations = st.lists(st.tuples(_kinds, _changes), min_size=1, max_size=3)
_values = st.permutations(range(3))


class _Rules(RuleBasedStateMachine):
    fresh: Fresh

    def __init__(self) -> None:
        super().__init__()
        self.handles = self.fresh(schema_of(START))
        self.world = World(self.handles)

    @initialize(changes=_changes, depth=st.integers(0, 3))
    def begin_with_branches(self, changes: Any, depth: int) -> None:
        """Put rows in, and branches on branches, up to three deep."""
        self.world.write(0, "main", [(2, 0, 0, 1), (2, 1, 1, 1), (0, 0, 0, 1), *changes])
        source = "main"
        for name in NAMES[:depth]:
            line = self.world.lines[source]
            self.world.create(0, name, source, line.head, line.number)
            self.world.write(1, name, changes)
            source = name

    @rule(turn=_turns, branch=_some, changes=_changes, anew=st.booleans())
    def write(self, turn: int, branch: int, changes: Any, anew: bool) -> None:  # noqa: FBT001
        self.world.write(turn, self.world.name(branch), changes, anew=anew)

    @rule(turn=_turns, branch=_some, operations=_operations)
    def attempt(self, turn: int, branch: int, operations: Any) -> None:
        self.world.attempt(turn, self.world.name(branch), operations)

    @rule(turn=_turns, branch=_some, what=st.integers(0, 9))
    def evolve(self, turn: int, branch: int, what: int) -> None:
        self.world.evolve(turn, self.world.name(branch), what)

    @rule(turn=_turns, name=_names, source=_some)
    def create(self, turn: int, name: str, source: int) -> None:
        branch = self.world.name(source)
        line = self.world.lines[branch]
        self.world.create(turn, name, branch, line.head, line.number)

    @rule(turn=_turns, name=_names, source=_some, back=_some)
    def create_from_commit(self, turn: int, name: str, source: int, back: int) -> None:
        line = self.world.model.line(self.world.lines[self.world.name(source)].head)
        commit = line[back % len(line)]
        self.world.create(turn, name, commit, commit, self.world.made_on[commit])

    @precondition(lambda self: self.world.tags)
    @rule(turn=_turns, name=_names, which=_some)
    def create_from_tag(self, turn: int, name: str, which: int) -> None:
        tag = sorted(self.world.tags)[which % len(self.world.tags)]
        self.world.create(turn, name, tag, *self.world.tags[tag])

    @precondition(lambda self: self.world.held)
    @rule(turn=_turns, name=_names, which=_some)
    def create_from_snapshot(self, turn: int, name: str, which: int) -> None:
        held = self.world.held[which % len(self.world.held)]
        source: Any = held.snapshot
        self.world.create(turn, name, source, held.commit, held.line)

    @precondition(lambda self: len(self.world.lines) > 1)
    @rule(turn=_turns, which=_some, force=st.booleans())
    def delete(self, turn: int, which: int, force: bool) -> None:  # noqa: FBT001
        names = sorted(name for name in self.world.lines if name != "main")
        self.world.delete(turn, names[which % len(names)], force=force)

    @precondition(lambda self: len(self.world.lines) > 1)
    @rule(
        turn=_turns,
        source=_some,
        into=_some,
        how=_some,
        mine=_changes,
        theirs=_changes,
        both=st.tuples(_tables, _rows, _small),
        values=_values,
        crosswise=st.booleans(),
    )
    def diverge_and_merge(
        self,
        turn: int,
        source: int,
        into: int,
        how: int,
        mine: Any,
        theirs: Any,
        both: tuple[int, int, int],
        values: list[int],
        crosswise: bool,  # noqa: FBT001
    ) -> None:
        """Let two branches make different things of one row, beside what each does alone.

        Crosswise they have merged each other before, so that they have two commits in common.
        """
        one, other = self.world.name(source), self.world.name(into)
        table, row, end = both

        def part(value: int) -> None:
            alike = (table, row + 1, end, value)
            self.world.write(turn, one, [*theirs, (*both, value)])
            self.world.write(turn, other, [*mine, (*both, values[1]), alike])

        if crosswise:
            part(values[2])
            moves.cross(self.world, turn, one, other)
        part(values[0])
        moves.merge(self.world, turn, one, other, how)

    @precondition(lambda self: len(self.world.lines) + len(self.world.tags) > 1)
    @rule(turn=_turns, source=_some, into=_some, how=_some)
    def merge(self, turn: int, source: int, into: int, how: int) -> None:
        names = [*sorted(self.world.lines), *sorted(self.world.tags)]
        chosen = names[source % len(names)]
        moves.merge(self.world, turn, chosen, self.world.name(into), how)

    @rule(turn=_turns, branch=_some, which=_some, how=_some)
    def revert(self, turn: int, branch: int, which: int, how: int) -> None:
        moves.revert(self.world, turn, self.world.name(branch), which, how)

    @rule(turn=_turns, name=_tags, branch=_some)
    def tag(self, turn: int, name: str, branch: int) -> None:
        moves.tag(self.world, turn, name, self.world.name(branch))

    @rule(turn=_turns, branch=_some)
    def hold(self, turn: int, branch: int) -> None:
        moves.hold(self.world, turn, self.world.name(branch))

    @rule(turn=_turns, one=_some, other=_some)
    def compare(self, turn: int, one: int, other: int) -> None:
        moves.compare(self.world, turn, one, other)

    @rule(turn=_turns, branch=_some, limit=st.sampled_from([1, 3, None]))
    def follow(self, turn: int, branch: int, limit: int | None) -> None:
        moves.follow(self.world, turn, self.world.name(branch), limit)

    @rule(turn=_turns, branch=_some)
    def begin_run(self, turn: int, branch: int) -> None:
        moves.begin(self.world, turn, self.world.name(branch))

    @precondition(lambda self: self.world.runs)
    @rule(which=_some, changes=_changes)
    def step_of_run(self, which: int, changes: Any) -> None:
        moves.step(self.world.runs[which % len(self.world.runs)], changes)

    @precondition(lambda self: self.world.runs)
    @rule(which=_some, give_up=st.booleans())
    def end_run(self, which: int, give_up: bool) -> None:  # noqa: FBT001
        underway = self.world.runs[which % len(self.world.runs)]
        moves.publish(self.world, underway, give_up=give_up)

    @rule(turn=_turns, branch=_some)
    def optimize(self, turn: int, branch: int) -> None:
        self.world.optimize(turn, self.world.name(branch))

    @rule(turn=_turns)
    def cleanup(self, turn: int) -> None:
        self.world.cleanup(turn)
        self.world.check_all(turn)

    def teardown(self) -> None:
        with ExitStack() as closing:
            for handle in self.handles:
                closing.callback(handle.close)
            for name in sorted(self.world.lines):
                moves.follow(self.world, 0, name, None)
            self.world.end()


def run_graph_against_model(fresh: Fresh, *, examples: int) -> None:
    """Do random things to new repositories, each through two handles, and compare."""

    class Machine(_Rules):
        pass

    Machine.fresh = staticmethod(fresh)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=_STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
