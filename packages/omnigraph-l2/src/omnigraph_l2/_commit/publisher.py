"""The publisher of one branch: the only code that makes table versions visible.

Callers that publish at the same time in one process form a group. One of them leads it and writes
for all whose tables do not overlap, one commit for each. A refused write is retried here; an
operation that lost a race to another commit is prepared again by the commit loop.

Invariant: a write is one merge-insert with ``publish$<last + 1>`` among its rows, so that two
writers that read the same state collide. The state is read again before each write, and every
expectation is checked against exactly the state that is written onto. A lost reply is resolved by
evidence: after each load of the state the publisher first looks for its own commit. What interrupts
the leader of a group ends its own commit only; another caller leads on for the others.

Invariant: the deletion of a branch begins with a row that takes the next sequence number, written
as a commit is. So it is ordered with the commits: those before it are known when the branch is
archived, and none is acknowledged after it. Once the versions of the branch are removed, nothing in
the store refuses a write that is still on its way; so the pointer, which goes before them, must be
there after each write.

Invariant: after a fence no commit lands that was checked before it. What was prepared on an older
state is refused, and its pin is checked on the state that has the fence.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import attrs

from omnigraph_l1 import Resolution, new_ulid
from omnigraph_l1.errors import CommitConflict, L1Error, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit, Published
from omnigraph_l2._catalog.manifest_rows import ManifestRow, closing_row
from omnigraph_l2._catalog.publish_plan import Intent, Plan, operation_digest, plan
from omnigraph_l2._commit.leases import Pin
from omnigraph_l2._commit.writer_queue import WriterQueue
from omnigraph_l2._errors.translating import translate
from omnigraph_l2._model.events import emit
from omnigraph_l2._store.branch_registry import is_hidden
from omnigraph_l2._store.manifest_store import Loaded, ManifestStore
from omnigraph_l2.errors import (
    CommitOutcomeUnknown,
    OmniGraphError,
    OperationRepeated,
    PublishConflict,
    RowLevelCasContention,
    UnknownBranch,
)

__all__ = [
    "PUBLISHER_RETRY_BUDGET",
    "ManifestBatchPublisher",
    "PublishBackend",
    "WriteStatus",
]

PUBLISHER_RETRY_BUDGET: Final = 5
"""How often a write may be refused although no other commit explains it."""

_PLANNED = declare("l2.publish.planned", "the tables are committed, nothing is published yet")
_VISIBLE = declare("l2.publish.visible", "the publish is visible, its pointer is behind")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.004, 0.25
_SLOW_SECONDS = 30.0


@attrs.frozen(kw_only=True)
class PublishBackend:
    """What a publisher needs from the rest of the repository."""

    parent: Callable[[CatalogState], Published | None]
    """The head of the branch, where the catalog itself does not hold it too."""
    find_published: Callable[[str, CatalogState], Published | None]
    """Find a commit that the catalog does not hold any more."""
    operation: Callable[[CatalogState, str], str | None]
    """Return the commit of an operation, by its digest, if it was done."""
    load_publish_state: Callable[[], Loaded]
    """Read the newest state, migrated, of the branch that is meant; raise if it must not change."""
    is_gone_after: Callable[[Loaded], bool]
    """Advance the pointer to what was written; return whether the branch was deleted by then."""
    find_archived: Callable[[str], GraphCommit | None]
    """Find a commit of a deleted branch."""
    after_publish: Callable[[Loaded], None]
    """Called after each write, while others wait: log and upkeep. Must not raise."""


@attrs.define(eq=False)
class WriteStatus:
    """How far the write of a commit is. Its owner may read it after an interruption."""

    uncertain_sequence: int | None = None
    """The sequence of a write of which it is unknown whether it landed; None if there is none."""
    published: Published | None = None
    """The commit, once it is known to have landed."""

    def resolve(self, published: Published) -> None:
        """Note that the commit has landed."""
        self.published, self.uncertain_sequence = published, None


@attrs.define(eq=False)
class PendingCommit:
    """A commit that waits to be published."""

    intent: Intent
    pin: Pin
    status: WriteStatus
    deadline: float
    started: float
    attempts: int = 0
    unexplained_refusals: int = 0
    lost_detail: str = ""
    uncertain_before: int | None = None
    """What was uncertain before the last attempt."""
    is_withdrawn: bool = False
    result: Published | None = None
    failure: BaseException | None = None

    @property
    def is_done(self) -> bool:
        """Whether it has a result or an error."""
        return self.result is not None or self.failure is not None


class ManifestBatchPublisher:
    """Publishes on one branch. Threads may share it."""

    def __init__(self, catalog: ManifestStore, turns: WriterQueue, backend: PublishBackend) -> None:
        self._catalog = catalog
        self._turns = turns
        self._backend = backend
        self._queue: list[PendingCommit] = []
        self._queue_lock = threading.Lock()
        self._leading = threading.Lock()

    def publish(
        self, intent: Intent, *, pin: Pin, status: WriteStatus, location: str, deadline: float
    ) -> Published:
        """Publish one commit; return it with its number in the sequence.

        Raise ``ExpectedVersionMismatch`` if an expectation does not hold any more.
        """
        mine = PendingCommit(intent, pin, status, deadline=deadline, started=time.monotonic())
        with self._queue_lock:
            self._queue.append(mine)
        pin.is_publishing = True
        try:
            while not mine.is_done:
                with self._leading:
                    if not mine.is_done:
                        self._lead_group(location)
        except BaseException:
            self._withdraw(mine)
            raise
        finally:
            pin.is_publishing = False
        if mine.failure is not None:
            raise mine.failure
        if mine.result is None:  # pragma: no cover - is_done says otherwise
            raise AssertionError(mine)
        return mine.result

    def close_branch(self, native: str, *, deadline: float) -> bool:
        """Close the branch for its deletion; return False if it was closed already."""

        def close(base: Loaded) -> None:
            row = closing_row(base.state.last_sequence + 1, native)
            self._compare_and_set(base, [row], new_ulid())

        return self._write_until(deadline, close)

    def fence(self, *, deadline: float) -> None:
        """Let no commit land that was checked before this returns."""
        self._write_until(deadline, self._catalog.fence)

    def _write_until(self, deadline: float, write: Callable[[Loaded], None]) -> bool:
        """Write something other than commits, after lost races again.

        Return False if the branch is closed: nothing is written then.
        """
        pause, lost = _FIRST_PAUSE, 0
        while True:
            with self._leading, self._turns.publishing(self._catalog.branch, lost=lost):
                base = self._backend.load_publish_state()
                if base.state.closed_at:
                    return False
                try:
                    write(base)
                except (CommitConflict, OutcomeUnknown):
                    # The next state shows a row that has landed; a second fence does no harm.
                    if time.monotonic() > deadline:
                        raise
                else:
                    return True
            lost += 1
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _withdraw(self, mine: PendingCommit) -> None:
        """Take back a commit whose caller was interrupted. It is not written after this.

        A write that has begun may still land; then its status names it.
        """
        with self._queue_lock:
            mine.is_withdrawn = True
            if mine in self._queue:
                self._queue.remove(mine)

    def _lead_group(self, location: str) -> None:
        """Publish for all waiting callers, until each of them has a result or an error."""
        with self._queue_lock:
            batch, self._queue = self._queue, []
        try:
            self._publish_group(batch, location)
        finally:
            # An interruption belongs to this thread. The others are published by the next leader.
            with self._queue_lock:
                left = [each for each in batch if not (each.is_done or each.is_withdrawn)]
                self._queue[:0] = left

    def _publish_group(self, batch: list[PendingCommit], location: str) -> None:
        pause = _FIRST_PAUSE
        sequence_before: int | None = None
        refusal = ""
        lost = 0
        while batch:
            try:
                with self._turns.publishing(self._catalog.branch, lost=lost):
                    base = self._backend.load_publish_state()
                    state = base.state
                    rose = sequence_before is None or state.last_taken > sequence_before
                    for each in batch:
                        self._resolve_uncertainty(each, base, location, refusal, rose=rose)
                    batch = [each for each in batch if not each.is_done]
                    if state.closed_at:
                        gone = UnknownBranch(location=location, branch=self._catalog.name)
                        self._fail(batch, location, gone)
                        return
                    planned = self._plan(batch, state, location)
                    if planned and self._check_pins(planned, location):
                        sequence_before = state.last_taken
                        refusal = self._write(base, planned, location)
            except L1Error as error:
                self._fail(batch, location, translate(error))
            except Exception as error:  # noqa: BLE001 - each caller gets it, in its own thread
                self._fail(batch, location, error)
            batch = [each for each in batch if not (each.is_done or each.is_withdrawn)]
            if batch and refusal:
                lost += 1
                time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _resolve_uncertainty(
        self, each: PendingCommit, base: Loaded, location: str, refusal: str, *, rose: bool
    ) -> None:
        """Find out whether an earlier attempt of a caller succeeded, before any other check."""
        if not each.attempts:
            return
        state, commit_id = base.state, each.intent.graph_commit_id
        own = state.commit(commit_id)
        if own is None and each.status.uncertain_sequence is not None:
            own = self._find_dropped_commit(commit_id, each.status.uncertain_sequence, state)
        if own is not None:
            base.table.make_durable()  # the reply may have been lost before that was done
            self._accept(each, own, location, is_gone=self._backend.is_gone_after(base))
            return
        taken = state.last_taken
        if each.status.uncertain_sequence is not None and taken >= each.status.uncertain_sequence:
            # The commit of another writer has the key that ours had: it can never land.
            each.status.uncertain_sequence = None
        if not rose:
            each.unexplained_refusals += 1
        seconds = time.monotonic() - each.started
        if each.status.uncertain_sequence is not None:
            if time.monotonic() > each.deadline:
                each.failure = CommitOutcomeUnknown(
                    location=location, commit_id=commit_id, detail=each.lost_detail
                )
        elif each.unexplained_refusals > PUBLISHER_RETRY_BUDGET:
            each.failure = RowLevelCasContention(
                branch=state.branch or "main", attempts=each.attempts, detail=refusal
            )
        elif time.monotonic() > each.deadline:
            each.failure = PublishConflict(
                branch=state.branch or "main", attempts=each.attempts, seconds=seconds
            )

    def _find_dropped_commit(
        self, commit_id: str, sequence: int, state: CatalogState
    ) -> Published | None:
        """Look for a commit in the log, if the catalog may have dropped it."""
        if state.publishes and state.publishes[0].sequence <= sequence:
            return None
        return self._backend.find_published(commit_id, state)

    def _plan(
        self, batch: list[PendingCommit], state: CatalogState, location: str
    ) -> list[tuple[PendingCommit, Plan]]:
        """Plan, one after another, the commits that hold together."""
        parent = state.head
        if parent is None or state.is_foreign:
            parent = self._backend.parent(state)
        planned: list[tuple[PendingCommit, Plan]] = []
        written: set[str] = set()
        for each in batch:
            try:
                self._check_operation(each.intent, state)
                made = plan(state, each.intent, parent)
                keys = {row.object_id for row in made.rows}
                if not written.isdisjoint(keys):
                    continue  # one write has each row once
            except OmniGraphError as error:
                # What does not go together with a planned commit waits until that one has landed.
                if not planned:
                    self._fail([each], location, error)
                continue
            state, parent = made.after, made.made
            written |= keys
            planned.append((each, made))
        return planned

    def _check_operation(self, intent: Intent, state: CatalogState) -> None:
        """Look for an operation in the log, if the catalog may have dropped it."""
        oldest = state.publishes[0].sequence if state.publishes else 0
        if intent.operation_hash is None or oldest <= intent.not_done_through + 1:
            return
        done = self._backend.operation(state, operation_digest(intent.operation_hash))
        if done is not None:
            raise OperationRepeated(operation_hash=intent.operation_hash, commit_id=done)

    def _check_pins(self, planned: list[tuple[PendingCommit, Plan]], location: str) -> bool:
        """Fail callers whose pin was lost; return whether all are still covered."""
        for each, _ in planned:
            try:
                each.pin.check()
            except OmniGraphError as error:
                self._fail([each], location, error)
        return not any(each.is_done for each, _ in planned)

    def _write(self, base: Loaded, planned: list[tuple[PendingCommit, Plan]], location: str) -> str:
        """Write the plans onto their base; return why it was refused, or an empty string."""
        failpoint(_PLANNED)
        rows = [row for _, made in planned for row in made.rows]
        started = time.monotonic()
        if not self._begin_write(planned):
            return ""  # the others are planned again
        try:
            write_id = planned[0][0].intent.graph_commit_id
            loaded = self._compare_and_set(base, rows, write_id)
        except OutcomeUnknown as unknown:
            _note(planned, unknown.detail)
            return unknown.detail
        except (L1Error, UnknownBranch) as error:
            for each, _ in planned:  # an earlier attempt may still land
                each.status.uncertain_sequence = each.uncertain_before
            if not isinstance(error, CommitConflict):
                raise
            if error.resolution is Resolution.INCOMPATIBLE:
                emit("publish_incompatible", location=location, detail=error.detail)
            return error.detail
        _note(planned, "the write was acknowledged")
        if time.monotonic() - started > _SLOW_SECONDS:
            # After so long, versions in between may have been cleaned up: trust only the newest.
            loaded = self._catalog.refresh()
        failpoint(_VISIBLE)
        return self._accept_written(loaded, planned, location)

    def _accept_written(
        self, loaded: Loaded, planned: list[tuple[PendingCommit, Plan]], location: str
    ) -> str:
        """Take what a write has made visible; return why not, or an empty string."""
        is_gone = self._backend.is_gone_after(loaded)
        for each, _ in planned:
            found = loaded.state.commit(each.intent.graph_commit_id)
            if found is None:
                each.lost_detail = "the write was acknowledged and is not in the newest version"
            else:
                self._accept(each, found, location, is_gone=is_gone)
        if is_gone:
            return ""
        self._backend.after_publish(loaded)
        return "" if all(each.result for each, _ in planned) else "the write is not to be seen"

    def _accept(
        self, each: PendingCommit, found: Published, location: str, *, is_gone: bool
    ) -> None:
        """Take what was written as the result, unless it landed where a deleted branch was."""
        if is_gone:
            self._resolve_after_deletion(each, location)
        else:
            each.result = found
            each.status.resolve(found)

    def _resolve_after_deletion(self, each: PendingCommit, location: str) -> None:
        """Look for a commit in the archive: it landed before the branch was deleted, or never."""
        commit_id = each.intent.graph_commit_id
        if is_hidden(self._catalog.branch):  # steps of runs are not archived
            detail = "its run was published, or ended, at the same time"
            each.failure = CommitOutcomeUnknown(
                location=location, commit_id=commit_id, detail=detail
            )
            return
        found = self._backend.find_archived(commit_id)
        if found is None:
            each.status.uncertain_sequence = None
            each.failure = UnknownBranch(location=location, branch=self._catalog.name)
        else:
            each.result = Published(0, found)
            each.status.resolve(each.result)

    def _compare_and_set(self, base: Loaded, rows: list[ManifestRow], write_id: str) -> Loaded:
        """Write rows onto a state. This is the only place that does."""
        return self._catalog.compare_and_set(base, rows, write_id=write_id)

    def _begin_write(self, planned: list[tuple[PendingCommit, Plan]]) -> bool:
        """Mark commits as being written, unless the caller of one of them was interrupted."""
        with self._queue_lock:
            if any(each.is_withdrawn for each, _ in planned):
                return False
            for each, made in planned:
                each.attempts += 1
                each.uncertain_before = each.status.uncertain_sequence
                # Whatever interrupts the write from here on, it may have landed.
                each.status.uncertain_sequence = made.made.sequence
                each.lost_detail = "the write was interrupted"
        return True

    def _fail(self, batch: list[PendingCommit], location: str, error: BaseException) -> None:
        for each in batch:
            if each.is_done:
                continue
            if each.status.uncertain_sequence is None:
                each.failure = error
                continue
            if isinstance(error, UnknownBranch):
                with suppress(OmniGraphError, L1Error):  # where the store fails, it stays unknown
                    self._resolve_after_deletion(each, location)
            if not each.is_done:
                each.failure = CommitOutcomeUnknown(
                    location=location,
                    commit_id=each.intent.graph_commit_id,
                    detail=f"{each.lost_detail}; then: {error}",
                )
                each.failure.__cause__ = error


def _note(planned: list[tuple[PendingCommit, Plan]], detail: str) -> None:
    for each, _ in planned:
        each.lost_detail = detail
