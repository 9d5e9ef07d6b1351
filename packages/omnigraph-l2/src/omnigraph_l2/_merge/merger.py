"""Merge into a branch, or revert a commit: decide, write, publish once.

Invariant: decisions are made against the tables onto which they are published; after a lost race
they are made again. The commit has both parents. A conflict or a dry run writes nothing. A crash
before the publish leaves unpublished versions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import attrs

from omnigraph_l1 import new_ulid, table_path
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.revision_resolver import Revision, RevisionResolver
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.manifest_rows import later_time
from omnigraph_l2._catalog.publish_plan import Intent
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.commit_operation import Prepared
from omnigraph_l2._commit.leases import Pin
from omnigraph_l2._commit.writer_queue import lineage
from omnigraph_l2._errors.merging import MergeConflicts
from omnigraph_l2._merge.common_ancestors import History
from omnigraph_l2._merge.graph_merge import GraphMerge
from omnigraph_l2._merge.merge_result import MergeKind, MergeResult, MergeStrategy
from omnigraph_l2._merge.merge_writes import Work, Writer, works
from omnigraph_l2._merge.orphan_edges import Orphans
from omnigraph_l2._merge.three_way import Base, CommitBase, base_of, leaves
from omnigraph_l2._model.argument_checks import check_author, invalid_argument
from omnigraph_l2._rows.pinned_reads import IdLookup
from omnigraph_l2._store.archived_commits import ArchivedCommits
from omnigraph_l2._store.branch_registry import is_hidden
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidRequest,
    OmniGraphError,
    OutcomeUnknown,
    SnapshotExpired,
    UnknownBranch,
    UnknownReference,
)

__all__ = ["Author", "Merger", "author_of"]

_WRITTEN = declare("l2.merge.written", "the tables of a merge are written, unpublished")

_STATES = 64


@attrs.frozen(kw_only=True)
class Author:
    """The actor, the message and the timeout of a commit."""

    actor: str | None
    message: str | None
    timeout: float


def author_of(actor: str | None, message: str | None, timeout: float) -> Author:
    """Validate actor, message and timeout of a commit."""
    check_author(actor, message)
    return Author(actor=actor, message=message, timeout=timeout)


@attrs.frozen(kw_only=True)
class _Other:
    """The side that is merged, and its origin."""

    hold: Pin
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
    relies_on: frozenset[str] = frozenset()


def _strategy(given: Any) -> Any:
    if not callable(given) and given not in ("error", "ours", "theirs"):
        raise invalid_argument(given, "strategy", "'error', 'ours', 'theirs' or a function")
    return given


@attrs.frozen(kw_only=True)
class Merger:
    """Merges into one branch."""

    root: RepositoryRoot
    branch: BranchSession
    references: RevisionResolver
    find: Callable[[str], GraphCommit | None]
    """Look a commit up on all branches."""
    open: Callable[[str], BranchSession]
    clock: Callable[[], datetime]
    strategy: MergeStrategy = attrs.field(converter=_strategy)

    def __attrs_post_init__(self) -> None:
        if is_hidden(self.branch.name):
            reason = "it is the branch of a run. Publish the run instead"
            raise InvalidRequest(what=f"branch {self.branch.name!r}", reason=reason)

    def merge(self, source: Any, author: Author, *, dry_run: bool = False) -> MergeResult:
        """Merge the current revision of a branch, a tag or a commit."""
        hold = self.branch.hold(writes=not dry_run)
        revision = self._public_revision(source, "source")
        theirs = self._commit(revision)

        def bases(head: GraphCommit) -> Base:
            history = History(
                self._look_up,
                before=ArchivedCommits(self.root).before,
                streams=[self.branch.newest_first(), self._stream(revision)],
                known=[head, theirs],
            )

            def has_data(commit_id: str) -> bool:
                commit = history(commit_id)
                return commit is not None and self.references.has_data(commit)

            return base_of(history, [head.graph_commit_id], [theirs.graph_commit_id], has_data)

        other = _Other(
            hold=hold, named=f"{source!r}", state=revision.state(), parent=theirs, bases=bases
        )
        if not dry_run:
            # A cleanup at work may not know that versions older than a head are needed again.
            self.references.check_retained(revision)
        with self._translate_removal(revision):
            return self._merge(other, author, dry_run=dry_run)

    def revert(self, commit_id: str, author: Author, *, dry_run: bool = False) -> MergeResult:
        """Revert what a commit has changed compared with its first parent."""
        hold = self.branch.hold(writes=not dry_run)
        commit = self._commit(self._public_revision(commit_id, "commit to revert"))
        parent_id = commit.parent_commit_id
        if parent_id is None:
            reason = "it is the first commit, which has no parent"
            raise InvalidRequest(what=f"commit to revert {commit_id!r}", reason=reason)
        other = _Other(
            hold=hold,
            named=f"The inverse of commit {commit_id}",
            state=self.state_of(parent_id),
            parent=None,
            bases=lambda _head: CommitBase(commit.graph_commit_id),
        )
        if author.message is None:
            named = commit.graph_commit_id if commit.message is None else repr(commit.message)
            author = attrs.evolve(author, message=f"revert {named}")
        return self._merge(other, author, dry_run=dry_run)

    def _merge(self, other: _Other, author: Author, *, dry_run: bool) -> MergeResult:
        intent = Intent(
            graph_commit_id=new_ulid(),
            changes=(),
            expected={},
            created_at=self._time_after(other.parent),
            actor_id=author.actor,
            message=author.message,
            merged_parent_commit_id=other.parent_id,
        )
        with _MergeOperation(merger=self, other=other, intent=intent) as operation:
            if dry_run:
                return operation.decide(self.branch.catalog.refresh().state).result
            commit = self.branch.commit(operation, timeout=author.timeout, pin=other.hold)
            return operation.result_of(commit)

    def _time_after(self, parent: GraphCommit | None) -> datetime:
        """Return a time after both parents of the commit; the search for bases relies on it."""
        now = self.clock()
        return now if parent is None else max(now, later_time(parent.created_at))

    def _public_revision(self, named: Any, role: str) -> Revision:
        """Find a public revision; only a run itself publishes its steps."""
        revision = self.references.find(named)
        if is_hidden(revision.native):
            reason = "it is a step of a run. Publish the run instead"
            raise InvalidRequest(what=f"{role} {named!r}", reason=reason)
        return revision

    def _commit(self, revision: Revision) -> GraphCommit:
        return _logged(revision.branch, revision.commit)

    def head_of(self, state: CatalogState) -> GraphCommit:
        """Return the head of the branch that is merged into."""
        return _logged(self.branch.name, self.branch.head(state))

    def state_of(self, commit_id: str) -> CatalogState:
        """Return the state that a commit has made."""
        return self.references.find(commit_id).state()

    def _look_up(self, commit_id: str) -> GraphCommit | None:
        found = self.find(commit_id)
        if found is None:
            with suppress(UnknownReference):
                return self.references.find(commit_id).commit  # a tag may keep it
        return found

    def _stream(self, revision: Revision) -> Iterator[GraphCommit]:
        try:
            return self.open(revision.branch).newest_first()
        except UnknownBranch:
            return iter(())  # of a tag, whose branch is gone

    @contextmanager
    def _translate_removal(self, revision: Revision) -> Iterator[None]:
        """Raise ``UnknownBranch`` or ``SnapshotExpired`` if the source was removed."""
        try:
            yield
        except (MergeConflicts, OutcomeUnknown):
            raise
        except OmniGraphError:
            self.references.check_retained(revision)
            raise


def _logged(branch: str, commit: GraphCommit | None) -> GraphCommit:
    if commit is None:
        reason = "it has no log, so that its merge base is unknown"
        raise InvalidRequest(what=f"branch {branch!r}", reason=reason)
    return commit


@attrs.define(eq=False, kw_only=True)
class _MergeOperation:
    """A merge as an operation of the commit loop."""

    merger: Merger
    other: _Other
    intent: Intent
    expected: Mapping[str, int] = MappingProxyType({})
    _decided: _Decided | None = None
    _held: ExitStack = attrs.field(factory=ExitStack)
    _states: Callable[[str], CatalogState] = attrs.field(init=False)
    _has_expired: bool = False

    @_states.default
    def _cached_states(self) -> Callable[[str], CatalogState]:
        return lru_cache(_STATES)(self.merger.state_of)

    def __enter__(self) -> _MergeOperation:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def lineages(self, lost: int) -> Collection[str]:
        """Return no names at first, because deciding takes long; after a lost race others wait."""
        if not lost:
            return ()
        native = self.merger.branch.native
        return [lineage(table_path(key), native) for key in sorted(self.other.state.tables)]

    def prepare(self, state: CatalogState) -> Prepared | None:
        """Decide against a state, and write the tables that change."""
        decided = self.decide(state)
        if not decided.is_new:
            return None
        merger = self.merger
        writer = Writer(root=merger.root, branch=merger.branch, merge=decided.merge)
        made = merger.root.at_once(writer.write, decided.todo)
        failpoint(_WRITTEN)
        return Prepared(
            changes=tuple(change for each in made for change in each.changes),
            versions={
                work.key: each.version
                for work, each in zip(decided.todo, made, strict=True)
                if each.version is not None
            },
            relies_on=decided.relies_on,
        )

    def may_retry(self, _mismatch: ExpectedVersionMismatch) -> bool:
        """Return that the merge may be decided again."""
        return True

    def result_of(self, commit: GraphCommit | None) -> MergeResult:
        """Return the result: a fast-forward only if no other commit was published first."""
        decided = self._decided
        if decided is None:  # pragma: no cover - the loop has prepared it
            raise AssertionError(self)
        if commit is None:
            return decided.result
        kind = decided.result.kind
        if commit.parent_commit_id != decided.head.graph_commit_id:
            kind = MergeKind.MERGED
        return attrs.evolve(decided.result, kind=kind, commit=commit)

    def decide(self, state: CatalogState) -> _Decided:
        """Decide against a state of the target, or raise ``MergeConflicts``."""
        self._held.close()
        try:
            self._decided = self._decide(state)
        except SnapshotExpired:
            if self._has_expired:
                raise
            self._has_expired = True  # what both come from may have gone with its branch
            self._held.close()
            self._decided = self._decide(state)
        return self._decided

    def _decide(self, state: CatalogState) -> _Decided:
        merger, other = self.merger, self.other
        head = merger.head_of(state)
        base = other.bases(head)
        named = leaves(base)
        merge = GraphMerge(
            root=merger.root,
            base=base,
            state_of=self._states,
            ours=state,
            theirs=other.state,
            strategy=merger.strategy,
        )
        newest = named[0] if named else None
        if other.parent is not None and newest == other.parent_id:
            kind = MergeKind.ALREADY_UP_TO_DATE
            result = MergeResult(kind=kind, commit=None, base_commit_id=newest)
            return _Decided(merge=merge, head=head, result=result, is_new=False)
        self._held.callback(merge.close)
        merge.decide()
        orphans = Orphans(merge, IdLookup(merger.root.known_ids))
        orphans.resolve()
        if merge.conflicts:
            raise MergeConflicts(
                source=other.named, into=merger.branch.name, conflicts=tuple(merge.conflicts)
            )
        todo: list[Work] = []
        for work in works(merge, merger.branch):
            self._held.callback(work.close)
            todo.append(work)
        kind = MergeKind.MERGED
        if named == [head.graph_commit_id]:
            # Two that went forward to each other are alike; else they would do so for ever.
            kind = MergeKind.FAST_FORWARD if todo else MergeKind.ALREADY_UP_TO_DATE
        result = MergeResult(
            kind=kind,
            commit=None,
            base_commit_id=newest,
            tables={work.key: work.summary for work in todo},
            resolved=tuple(merge.resolved),
        )
        return _Decided(
            merge=merge,
            head=head,
            result=result,
            is_new=bool(todo) or (other.parent is not None and kind is MergeKind.MERGED),
            todo=todo,
            relies_on=frozenset({*merge.touched_keys(), *orphans.relied_on()}),
        )
