"""The publisher of one branch: the only thing that makes table versions visible.

Always: one merge-insert a write, with ``publish$<last + 1>`` among its rows, so that two that read
the same state collide. Every expectation is checked against the very state that is written onto.
A lost reply is never guessed: each load of the state looks for one's own commit first. Retrying is
done here and nowhere else.

Callers that publish at the same time in one process are combined: one of them leads, and writes
for all whose tables do not touch each other, a commit each.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Final

import attrs

from omnigraph_l1 import Resolution
from omnigraph_l1.errors import CommitConflict, L1Error, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.changes import Intent
from omnigraph_l2._catalog.commits import Published
from omnigraph_l2._catalog.planning import Plan, operation_digest, plan
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._errors.translating import translated
from omnigraph_l2._events import emit
from omnigraph_l2._leases import Hold
from omnigraph_l2._manifest.catalog import Catalog, Loaded
from omnigraph_l2._publishing.turns import Turns
from omnigraph_l2.errors import (
    CommitOutcomeUnknown,
    OmniGraphError,
    OperationRepeated,
    PublishConflict,
    RowLevelCasContention,
)

__all__ = ["PUBLISHER_RETRY_BUDGET", "Publisher", "Surroundings"]

PUBLISHER_RETRY_BUDGET: Final = 5
"""How often a write may be refused although nobody published, before that is an error."""

_PLANNED = declare("l2.publish.planned", "the tables are committed, nothing is published yet")
_VISIBLE = declare("l2.publish.visible", "the publish is visible, its pointer is behind")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.004, 0.25
_SLOW_SECONDS = 30.0
_FRESH_SECONDS = 2.0


@attrs.frozen(kw_only=True)
class Surroundings:
    """What a publisher asks and tells the rest of the repository."""

    parent: Callable[[CatalogState], Published | None]
    """The head of the branch, where the catalog itself does not hold it too."""
    was_published: Callable[[str, CatalogState], Published | None]
    """Look a commit up that the catalog does not hold any more."""
    operation: Callable[[CatalogState, str], str | None]
    """Tell which commit an operation made, by its digest, if it was done."""
    check: Callable[[], None]
    """Raise where nobody may publish now."""
    published: Callable[[Loaded], None]
    """Told after each write, while others wait: pointers, log, upkeep. Must not raise."""


@attrs.define(eq=False)
class _Waiting:
    intent: Intent
    hold: Hold
    deadline: float
    started: float
    attempts: int = 0
    refused_in_vain: int = 0
    unsettled_sequence: int | None = None
    """The sequence of a write of which nobody knows whether it landed."""
    lost_detail: str = ""
    result: Published | None = None
    failure: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self.result is not None or self.failure is not None


class Publisher:
    """Publishes on one branch. Threads may share it."""

    def __init__(self, catalog: Catalog, turns: Turns, surroundings: Surroundings) -> None:
        self._catalog = catalog
        self._turns = turns
        self._around = surroundings
        self._queue: list[_Waiting] = []
        self._queue_lock = threading.Lock()
        self._leading = threading.Lock()

    def publish(self, intent: Intent, *, hold: Hold, place: str, timeout: float) -> Published:
        """Publish one commit; give it, with its place in the sequence."""
        now = time.monotonic()
        mine = _Waiting(intent, hold, deadline=now + timeout, started=now)
        with self._queue_lock:
            self._queue.append(mine)
        while not mine.is_done:
            with self._leading:
                if not mine.is_done:
                    self._lead(place)
        if mine.failure is not None:
            raise mine.failure
        if mine.result is None:  # pragma: no cover - is_done says otherwise
            raise AssertionError(mine)
        return mine.result

    def _lead(self, place: str) -> None:
        """Publish for all that wait, until each of them has its answer."""
        with self._queue_lock:
            batch, self._queue = self._queue, []
        pause = _FIRST_PAUSE
        sequence_before: int | None = None
        refusal = ""
        lost = 0
        while batch:
            try:
                self._around.check()
                with self._turns.publishing(self._catalog.branch, lost=lost):
                    # At first what the transaction has just read will do: a stale state collides.
                    fresh = (
                        self._catalog.refresh() if lost else self._catalog.recent(_FRESH_SECONDS)
                    )
                    base = self._catalog.migrated(fresh)
                    state = base.state
                    rose = sequence_before is None or state.last_sequence > sequence_before
                    for each in batch:
                        self._review(each, state, place, refusal, rose=rose)
                    batch = [each for each in batch if not each.is_done]
                    planned = self._plan(batch, state, place)
                    if planned and self._all_held(planned, place):
                        sequence_before = state.last_sequence
                        refusal = self._write(base, planned, place)
            except L1Error as error:
                self._fail(batch, place, translated(error))
            except BaseException as error:  # noqa: BLE001 - each caller gets it, in its own thread
                self._fail(batch, place, error)
            batch = [each for each in batch if not each.is_done]
            if batch and refusal:
                lost += 1
                time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _review(
        self, each: _Waiting, state: CatalogState, place: str, refusal: str, *, rose: bool
    ) -> None:
        """Settle what is known of a waiting caller, before anything else is looked at."""
        if not each.attempts:
            return
        commit_id = each.intent.graph_commit_id
        own = state.commit(commit_id)
        if own is None and each.unsettled_sequence is not None:
            own = self._looked_up(commit_id, each.unsettled_sequence, state)
        if own is not None:
            each.result = own
            return
        taken = state.last_sequence
        if each.unsettled_sequence is not None and taken >= each.unsettled_sequence:
            # Somebody else's commit stands under the key that ours had: it can never land.
            each.unsettled_sequence = None
        if not rose:
            each.refused_in_vain += 1
        seconds = time.monotonic() - each.started
        if each.unsettled_sequence is not None:
            if time.monotonic() > each.deadline:
                each.failure = CommitOutcomeUnknown(
                    place=place, commit_id=commit_id, detail=each.lost_detail
                )
        elif each.refused_in_vain > PUBLISHER_RETRY_BUDGET:
            each.failure = RowLevelCasContention(
                branch=state.branch or "main", attempts=each.attempts, detail=refusal
            )
        elif time.monotonic() > each.deadline:
            each.failure = PublishConflict(
                branch=state.branch or "main", attempts=each.attempts, seconds=seconds
            )

    def _looked_up(self, commit_id: str, sequence: int, state: CatalogState) -> Published | None:
        """Look further back than the catalog goes, where it may have dropped the commit."""
        if state.publishes and state.publishes[0].sequence <= sequence:
            return None
        return self._around.was_published(commit_id, state)

    def _plan(
        self, batch: list[_Waiting], state: CatalogState, place: str
    ) -> list[tuple[_Waiting, Plan]]:
        """Plan one after another all that do not touch the same tables."""
        parent = state.head
        if parent is None or state.is_foreign:
            parent = self._around.parent(state)
        planned: list[tuple[_Waiting, Plan]] = []
        touched: set[str] = set()
        for each in batch:
            if touched & each.intent.touched:
                continue
            try:
                self._check_operation(each.intent, state)
                made = plan(state, each.intent, parent)
            except OmniGraphError as error:
                self._fail([each], place, error)
                continue
            touched |= each.intent.touched
            state, parent = made.after, made.made
            planned.append((each, made))
        return planned

    def _check_operation(self, intent: Intent, state: CatalogState) -> None:
        """Look further back than the catalog goes, where it may have dropped the operation."""
        oldest = state.publishes[0].sequence if state.publishes else 0
        if intent.operation_hash is None or oldest <= intent.not_done_through + 1:
            return
        done = self._around.operation(state, operation_digest(intent.operation_hash))
        if done is not None:
            raise OperationRepeated(operation_hash=intent.operation_hash, commit_id=done)

    def _all_held(self, planned: list[tuple[_Waiting, Plan]], place: str) -> bool:
        """Give up those that slept so long that what they stand on may have been cleaned up."""
        for each, _ in planned:
            try:
                each.hold.check()
            except OmniGraphError as error:
                self._fail([each], place, error)
        return not any(each.is_done for each, _ in planned)

    def _write(self, base: Loaded, planned: list[tuple[_Waiting, Plan]], place: str) -> str:
        """Write what is planned, on its base; give why it was refused, or nothing."""
        failpoint(_PLANNED)
        rows = [row for _, made in planned for row in made.rows]
        started = time.monotonic()
        for each, _ in planned:
            each.attempts += 1
        try:
            write_id = planned[0][0].intent.graph_commit_id
            loaded = self._catalog.merge(base, rows, write_id=write_id)
        except CommitConflict as conflict:
            if conflict.resolution is Resolution.INCOMPATIBLE:
                emit("publish_incompatible", place=place, detail=conflict.detail)
            return conflict.detail
        except OutcomeUnknown as unknown:
            for each, made in planned:
                each.unsettled_sequence = made.made.sequence
                each.lost_detail = unknown.detail
            return unknown.detail
        for each, made in planned:
            each.unsettled_sequence = made.made.sequence
            each.lost_detail = "the write was acknowledged and is not in the newest version"
        if time.monotonic() - started > _SLOW_SECONDS:
            # So slow that versions in between may have been cleaned: believe only the newest.
            loaded = self._catalog.refresh()
        failpoint(_VISIBLE)
        for each, _ in planned:
            each.result = loaded.state.commit(each.intent.graph_commit_id)
        self._around.published(loaded)
        return "" if all(each.result for each, _ in planned) else "the write is not to be seen"

    def _fail(self, batch: list[_Waiting], place: str, error: BaseException) -> None:
        for each in batch:
            if each.is_done:
                continue
            if each.unsettled_sequence is None:
                each.failure = error
            else:
                each.failure = CommitOutcomeUnknown(
                    place=place,
                    commit_id=each.intent.graph_commit_id,
                    detail=f"{each.lost_detail}; then: {error}",
                )
                each.failure.__cause__ = error
