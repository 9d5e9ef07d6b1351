"""Merging into a branch, and taking a commit back: decide, write, publish once.

Always: what is published is decided against the very tables that it is published onto; a race that
was lost is decided anew. Both parents are in the commit. A conflict, or a dry run, writes nothing.
A crash before the publish leaves versions that nobody sees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import attrs

from omnigraph_l1 import new_ulid, table_path
from omnigraph_l1.errors import L1Error
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.names import is_hidden
from omnigraph_l2._catalog.changes import Change, Intent
from omnigraph_l2._catalog.checking import check_text
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.planning import check_expectations
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._errors.merging import MergeConflicts
from omnigraph_l2._events import emit
from omnigraph_l2._evolving.foreign import refuse_foreign
from omnigraph_l2._given import check_timeout
from omnigraph_l2._history.kept import KeptCommits
from omnigraph_l2._leases import Hold
from omnigraph_l2._merging.graph_merge import GraphMerge
from omnigraph_l2._merging.history import History
from omnigraph_l2._merging.orphans import Orphans
from omnigraph_l2._merging.rule import Base, Leaf, base_of, leaves
from omnigraph_l2._merging.values import MergeKind, MergeResult, MergeStrategy
from omnigraph_l2._merging.writing import Work, Writer, works
from omnigraph_l2._publishing.turns import Turns, lineage
from omnigraph_l2._references.moment import Moment
from omnigraph_l2._references.resolving import References
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.lookups import Lookups
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidRequest,
    OmniGraphError,
    SnapshotExpired,
    UnknownBranch,
    UnknownReference,
)

__all__ = ["Author", "Merger", "author_of"]

_WRITTEN = declare("l2.merge.written", "the tables of a merge are written, nobody sees them yet")

_MICROSECOND = timedelta(microseconds=1)
_STATES = 64


@attrs.frozen(kw_only=True)
class Author:
    """What the commit says of itself, and how long it may take."""

    actor: str | None
    message: str | None
    timeout: float


def author_of(what: str, actor: str | None, message: str | None, timeout: float) -> Author:
    """Take what a caller says of a commit, or refuse it."""
    check_text(what, "its actor", actor)
    check_text(what, "its message", message)
    check_timeout(what, timeout)
    return Author(actor=actor, message=message, timeout=timeout)


@attrs.frozen(kw_only=True)
class _Other:
    """The side that is merged, and how it came to be."""

    hold: Hold
    """Held since before anything of it was read."""
    named: str
    """What messages call it."""
    state: CatalogState
    parent: GraphCommit | None
    """The commit that becomes the second parent; None where there shall be none."""
    bases: Callable[[GraphCommit], Base]
    """What a head of the target and this side come from."""

    @property
    def parent_id(self) -> str | None:
        """The id of the second parent."""
        return None if self.parent is None else self.parent.graph_commit_id


@attrs.frozen(kw_only=True)
class _Decided:
    """What is to be done, as long as the tables are what they were."""

    merge: GraphMerge
    head: GraphCommit
    result: MergeResult
    is_new: bool
    """Whether there is anything to publish."""
    todo: list[Work] = attrs.field(factory=list)
    expected: dict[str, int] = attrs.field(factory=dict)

    def published(self, commit: GraphCommit) -> MergeResult:
        """Give the result: it went forward only if nobody was faster, on other tables."""
        kind = self.result.kind
        if commit.parent_commit_id != self.head.graph_commit_id:
            kind = MergeKind.MERGED
        return attrs.evolve(self.result, kind=kind, commit=commit)


def _strategy(given: Any) -> Any:
    if not callable(given) and given not in ("error", "ours", "theirs"):
        reason = f"its strategy is 'error', 'ours', 'theirs' or a function, found {given!r}"
        raise InvalidRequest(what="This merge", reason=reason)
    return given


@attrs.frozen(kw_only=True)
class Merger:
    """Merges into one branch."""

    root: Root
    branch: GraphBranch
    references: References
    find: Callable[[str], GraphCommit | None]
    """Look a commit up on all branches."""
    open: Callable[[str], GraphBranch]
    turns: Turns
    clock: Callable[[], datetime]
    strategy: MergeStrategy = attrs.field(converter=_strategy)

    def __attrs_post_init__(self) -> None:
        if is_hidden(self.branch.name):
            reason = f"{self.branch.name!r} is the branch of a run; the run publishes it"
            raise InvalidRequest(what="Merging", reason=reason)

    def merge(self, source: Any, author: Author, *, dry_run: bool = False) -> MergeResult:
        """Merge what a branch, a tag or a commit is at this moment."""
        hold = self.branch.hold()
        moment = self._published(source, "Merging")
        theirs = self._commit(moment)

        def bases(head: GraphCommit) -> Base:
            history = History(
                self._found,
                before=KeptCommits(self.root).before,
                streams=[self.branch.newest_first(), self._stream(moment)],
                known=[head, theirs],
            )

            def has_data(commit_id: str) -> bool:
                commit = history(commit_id)
                return commit is not None and self.references.has_data(commit)

            return base_of(history, [head.graph_commit_id], [theirs.graph_commit_id], has_data)

        other = _Other(
            hold=hold, named=f"{source!r}", state=moment.state(), parent=theirs, bases=bases
        )
        with self._while_it_is_there(moment):
            return self._until_published(other, author, dry_run=dry_run)

    def revert(self, commit_id: str, author: Author, *, dry_run: bool = False) -> MergeResult:
        """Take back what a commit has changed, against its first parent."""
        hold = self.branch.hold()
        commit = self._commit(self._published(commit_id, "Reverting"))
        parent_id = commit.parent_commit_id
        if parent_id is None:
            reason = "it is the first commit, and nothing was before it"
            raise InvalidRequest(what=f"Reverting commit {commit_id}", reason=reason)
        other = _Other(
            hold=hold,
            named=f"The inverse of commit {commit_id}",
            state=self._state(parent_id),
            parent=None,
            bases=lambda _head: Leaf(commit.graph_commit_id),
        )
        if author.message is None:
            named = commit.graph_commit_id if commit.message is None else repr(commit.message)
            author = attrs.evolve(author, message=f"revert {named}")
        return self._until_published(other, author, dry_run=dry_run)

    def _until_published(self, other: _Other, author: Author, *, dry_run: bool) -> MergeResult:
        deadline = time.monotonic() + author.timeout
        commit_id = new_ulid()
        states = lru_cache(_STATES)(self._state)
        lost, expired = 0, False
        while True:
            with self.branch.border(), ExitStack() as held:
                if lost:  # from then on others wait, while this decides
                    held.enter_context(self._turn(other.state.tables, lost))
                try:
                    decided = self._decided(other, states, held)
                except SnapshotExpired:
                    if expired:
                        raise
                    expired = True  # what both come from may have gone with its branch
                    continue
                if dry_run or not decided.is_new:
                    return decided.result
                intent = Intent(
                    graph_commit_id=commit_id,
                    changes=(),
                    expected=decided.expected,
                    created_at=self._moment_after(other.parent),
                    actor_id=author.actor,
                    message=author.message,
                    merged_parent_commit_id=other.parent_id,
                    same_types_as=decided.merge.ours,
                )
                try:
                    if not lost:
                        held.enter_context(self._turn([each.key for each in decided.todo], lost))
                        state = self.branch.catalog.refresh().state
                        check_expectations(state, decided.expected)
                    changes = self._written(decided)
                    commit = self.branch.publish(
                        attrs.evolve(intent, changes=changes),
                        timeout=max(1.0, deadline - time.monotonic()),
                        hold=other.hold,
                    )
                except ExpectedVersionMismatch:
                    if time.monotonic() > deadline:
                        raise
                else:
                    return decided.published(commit)
            lost += 1
            emit("merge_retry", place=self.root.place, lost=lost)

    def _decided(
        self, other: _Other, states: Callable[[str], CatalogState], held: ExitStack
    ) -> _Decided:
        """Decide against the target as it is now, or raise ``MergeConflicts``."""
        moment = self.references.at_head(self.branch)
        head = self._commit(moment)
        base = other.bases(head)
        named = leaves(base)
        merge = GraphMerge(
            root=self.root,
            base=base,
            state_of=states,
            ours=moment.state(),
            theirs=other.state,
            strategy=self.strategy,
        )
        newest = named[0] if named else None
        if other.parent is not None and newest == other.parent_id:
            kind = MergeKind.ALREADY_UP_TO_DATE
            result = MergeResult(kind=kind, commit=None, base_commit_id=newest)
            return _Decided(merge=merge, head=head, result=result, is_new=False)
        held.callback(merge.close)
        merge.decide()
        orphans = Orphans(merge, Lookups(self.root.known_ids))
        orphans.settle()
        if merge.conflicts:
            raise MergeConflicts(
                source=other.named, into=self.branch.name, conflicts=tuple(merge.conflicts)
            )
        todo: list[Work] = []
        for work in works(merge, self.branch):
            held.callback(work.close)
            todo.append(work)
        kind = MergeKind.MERGED
        if named == [head.graph_commit_id]:
            # Two that went forward to each other are alike; else they would do so for ever.
            kind = MergeKind.FAST_FORWARD if todo else MergeKind.ALREADY_UP_TO_DATE
        result = MergeResult(
            kind=kind,
            commit=None,
            base_commit_id=newest,
            tables={work.key: work.told for work in todo},
            resolved=tuple(merge.resolved),
        )
        return _Decided(
            merge=merge,
            head=head,
            result=result,
            is_new=bool(todo) or (other.parent is not None and kind is MergeKind.MERGED),
            todo=todo,
            expected={
                key: merge.ours.latest(key)
                for key in sorted({*merge.touched(), *orphans.relied_on()})
            },
        )

    def _written(self, decided: _Decided) -> tuple[Change, ...]:
        told = [work.told for work in decided.todo]
        if any(each.added or each.dropped or each.redeclared for each in told):
            refuse_foreign(self.root, "Merging a change of the schema")
        writer = Writer(root=self.root, branch=self.branch, merge=decided.merge)
        changes = self.root.at_once(writer.changes, decided.todo)
        failpoint(_WRITTEN)
        return tuple(change for several in changes for change in several)

    def _moment_after(self, parent: GraphCommit | None) -> datetime:
        """Give the time. A commit is younger than both its parents: by that bases are found."""
        now = self.clock()
        return now if parent is None else max(now, parent.created_at + _MICROSECOND)

    def _turn(self, keys: Iterable[str], lost: int) -> AbstractContextManager[None]:
        wanted = [lineage(table_path(key), self.branch.native) for key in keys]
        return self.turns.take(wanted, lost=lost)

    def _published(self, named: Any, doing: str) -> Moment:
        """Find a moment that everybody can see; only a run itself publishes its steps."""
        moment = self.references.find(named)
        if is_hidden(moment.native):
            reason = "the commit is a step of a run; the run publishes it"
            raise InvalidRequest(what=doing, reason=reason)
        return moment

    def _commit(self, moment: Moment) -> GraphCommit:
        if moment.commit is None:
            reason = (
                f"there is no log of {moment.branch!r}, so that nobody knows where it comes from"
            )
            raise InvalidRequest(what="Merging", reason=reason)
        return moment.commit

    def _state(self, commit_id: str) -> CatalogState:
        return self.references.find(commit_id).state()

    def _found(self, commit_id: str) -> GraphCommit | None:
        found = self.find(commit_id)
        if found is None:
            with suppress(UnknownReference):
                return self.references.find(commit_id).commit  # a tag may keep it
        return found

    def _stream(self, moment: Moment) -> Iterator[GraphCommit]:
        try:
            return self.open(moment.branch).newest_first()
        except UnknownBranch:
            return iter(())  # of a tag, whose branch is gone

    @contextmanager
    def _while_it_is_there(self, moment: Moment) -> Iterator[None]:
        """Tell a source that was deleted meanwhile as what it is."""
        try:
            yield
        except MergeConflicts:
            raise
        except (L1Error, OmniGraphError):
            self.references.check_held(moment)
            raise
