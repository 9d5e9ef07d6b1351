"""The repository, as users hold it. Each method checks its arguments, delegates and returns.

Invariant: one handle serves many threads of one process. Reading needs no write access. A closed
handle raises. Nothing is asked of the store before it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import islice
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, Self, TypeVar, overload

from omnigraph_l1 import Durability, Storage, new_ulid
from omnigraph_l1.abandonable_calls import PendingCall
from omnigraph_l2._api.branches import Branches
from omnigraph_l2._api.runs import Runs
from omnigraph_l2._api.tags import Tags
from omnigraph_l2._branch.branch_deletion import BranchDeletion
from omnigraph_l2._branch.change_feed import ChangeSet, Feed
from omnigraph_l2._branch.graph_diff import Diff, diff_of
from omnigraph_l2._branch.revision_resolver import RevisionResolver
from omnigraph_l2._branch.snapshot import Snapshot, beginning
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.publish_plan import (
    Change,
    Intent,
    check_changes,
    check_expectations,
    check_expected,
)
from omnigraph_l2._commit.batch_publish import BatchPublish
from omnigraph_l2._commit.branch_cache import BranchCache
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.leases import Leases
from omnigraph_l2._commit.writer_queue import WriterQueue
from omnigraph_l2._errors.translating import check_timeout, public_call, translate_errors
from omnigraph_l2._evolve.evolve_steps import EvolvePlan
from omnigraph_l2._evolve.evolver import Evolver
from omnigraph_l2._maintenance.cleanup import Cleaner
from omnigraph_l2._maintenance.cleanup_plan import check_retention
from omnigraph_l2._maintenance.cleanup_report import CleanupReport
from omnigraph_l2._maintenance.migrate import MigrateReport, migrate_all
from omnigraph_l2._maintenance.optimize import Optimizer, OptimizeReport, check_target
from omnigraph_l2._maintenance.repair import Repairer, RepairReport
from omnigraph_l2._maintenance.verify import verify
from omnigraph_l2._maintenance.verify_report import VerifyReport
from omnigraph_l2._maintenance.verify_tables import Thorough
from omnigraph_l2._merge.merge_result import MergeStrategy
from omnigraph_l2._merge.merger import Merger, author_of
from omnigraph_l2._model.argument_checks import (
    check_author,
    check_text,
    checked_limit,
    invalid_argument,
    refuse_pickling,
)
from omnigraph_l2._model.deadlines import CLOSE_SECONDS, OPERATION_SECONDS
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.graph_schema import GraphSchema
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._runs.begin_run import RunCreator
from omnigraph_l2._store.branch_registry import MAIN, BranchPointers, BranchRegistry
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import VersionsRead
from omnigraph_l2._store.operation_records import Operations
from omnigraph_l2._store.repository_init import create, open_catalog, was_begun
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable, find_schema_files
from omnigraph_l2._store.run_registry import Registry, RunStatus
from omnigraph_l2._store.tag_records import TagRecords
from omnigraph_l2._transaction.transaction import Author, Transaction
from omnigraph_l2._transaction.transaction_rerun import retry
from omnigraph_l2.errors import (
    InvalidBranchName,
    OutcomeUnknown,
    StoreUnavailable,
    UnknownCommit,
)

__all__ = ["Repository"]

_T = TypeVar("_T")
_RETENTION: Final = timedelta(days=7)
_TARGET_ROWS: Final = 1_048_576


def _now() -> datetime:
    return datetime.now(timezone.utc)


class Repository:
    """A graph on disk or in an object store. ``init`` creates one, ``open`` opens one."""

    @classmethod
    def init(
        cls,
        uri: str | os.PathLike[str],
        schema: GraphSchema | None = None,
        storage_options: Mapping[str, Any] | None = None,
        actor: str | None = None,
        durability: Durability | str | None = None,
        *,
        log_each_commit: bool = False,
        timeout: float = OPERATION_SECONDS,
    ) -> Repository:
        """Make a repository where nothing is. After a crash, just call it again."""
        with public_call(timeout):
            root = _root_of(uri, storage_options, durability)
            create(root, schema or GraphSchema(), actor=actor, clock=_now)
        return cls(root, actor=actor, clock=_now, log_each_commit=log_each_commit)

    @classmethod
    def open(
        cls,
        uri: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        actor: str | None = None,
        durability: Durability | str | None = None,
        *,
        log_each_commit: bool = False,
        timeout: float = OPERATION_SECONDS,
    ) -> Repository:
        """Open a repository.

        With ``log_each_commit`` each commit of this handle is at once in ``_graph_commits.lance``,
        for programs that read that by themselves.
        """
        with public_call(timeout):
            root = _root_of(uri, storage_options, durability)
            repository = cls(root, actor=actor, clock=_now, log_each_commit=log_each_commit)
            loaded = open_catalog(root, repository._branch(MAIN).catalog, repository._pointers)
            if not was_begun(loaded.table) and (
                not root.first_names("_refs") or find_schema_files(root)
            ):
                repository._leases.for_writers_only()
        return repository

    def __init__(
        self,
        root: RepositoryRoot,
        *,
        actor: str | None,
        clock: Callable[[], datetime],
        log_each_commit: bool = False,
    ) -> None:
        self._root = root
        self._actor = actor
        self._clock = clock
        self._turns = WriterQueue(root)
        self._log = CommitLog(root)
        self._pointers = BranchPointers(root, clock)
        self._tag_refs = TagRecords(root)
        self._listing = BranchRegistry(root, self._pointers)
        self._leases = Leases(root, clock=clock, known=self._versions_read)
        self._open_branches = BranchCache(
            root,
            pointers=self._pointers,
            listing=self._listing,
            log=self._log,
            turns=self._turns,
            leases=self._leases,
            finish_deletion=self._finish_deletion,
            clock=self._clock,
            log_each_commit=log_each_commit,
        )
        self._references = RevisionResolver(
            root=root,
            listing=self._listing,
            log=self._log,
            tags=self._tag_refs,
            leases=self._leases,
            open=self._branch,
            find=self._open_branches.find,
            fence=self._open_branches.fence,
        )

    @property
    def uri(self) -> str:
        """Where the repository is."""
        return self._root.location

    def flush(self, *, timeout: float = OPERATION_SECONDS) -> None:
        """Write down in the log what this handle has published, so that other programs see it."""
        with public_call(timeout):
            self._open_branches.flush()

    def close(self, *, timeout: float = CLOSE_SECONDS) -> None:
        """Flush, and let go of what is open. Closing twice, or in a forked child, does nothing.

        A store that is silent, or too slow for the ``timeout``, is no error: the next writer does
        what is left.
        """
        check_timeout(timeout)
        if self._root.closed or self._root.is_forked:
            return
        if self._root.storage.location.is_local:
            with public_call(timeout):
                self._close()
            return
        pending = PendingCall(self._close)
        if pending.wait(timeout):
            pending.result()
        else:
            self._root.closed = True
            emit("close_abandoned", location=self.uri, seconds=timeout)

    def _close(self) -> None:
        try:
            self.flush()
        except (StoreUnavailable, OutcomeUnknown) as error:
            emit("log_left_behind", location=self.uri, error=str(error))
        finally:
            self._leases.close()
            self._root.close()

    def __enter__(self) -> Self:
        self._root.check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a repository handle", "send its uri, and open it there")

    def __repr__(self) -> str:
        return f"<Repository at {self.uri}>"

    # Reading.

    def snapshot(
        self,
        branch: str = MAIN,
        *,
        version: int | None = None,
        commit: str | None = None,
        tag: str | None = None,
        as_of: datetime | None = None,
        timeout: float = OPERATION_SECONDS,
    ) -> Snapshot:
        """Return the graph as it is, or as it was at a version, a commit, a tag, or a moment.

        A tag or a commit is found on whatever branch it is.
        """
        with public_call(timeout):
            return self._references.snapshot(
                branch, version=version, commit=commit, tag=tag, as_of=as_of
            )

    def log(
        self, branch: str = MAIN, limit: int | None = None, *, timeout: float = OPERATION_SECONDS
    ) -> list[GraphCommit]:
        """List the commits of a branch, newest first."""
        with public_call(timeout):
            return list(islice(self._branch(branch).newest_first(), checked_limit(limit)))

    def commit(self, commit_id: str, *, timeout: float = OPERATION_SECONDS) -> GraphCommit:
        """Find a commit by its id."""
        with public_call(timeout):
            self._branch(MAIN)
            found = self._open_branches.find(commit_id)
        if found is None:
            raise UnknownCommit(commit_id=commit_id)
        return found

    def diff(
        self,
        before: str | int | Snapshot | None,
        after: str | int | Snapshot,
        tables: Collection[str] | None = None,
        *,
        timeout: float = OPERATION_SECONDS,
    ) -> Diff:
        """Return what differs between two moments: of all tables, or of some.

        Each is a branch, a tag, a commit id, a version of main, or a snapshot; None before is the
        very beginning, where nothing was. Tables that both show at the same version cost nothing,
        and rows are compared when they are asked for.
        """
        self._root.check_open()
        with public_call(timeout):
            older = (
                beginning(self._root, MAIN, None) if before is None else self._find_snapshot(before)
            )
            newer = self._find_snapshot(after)
            return diff_of(self._root, older, newer, tables)

    def changes(
        self,
        since: str | int | Snapshot | None = None,
        branch: str = MAIN,
        limit: int | None = None,
        *,
        timeout: float = OPERATION_SECONDS,
    ) -> Iterator[ChangeSet]:
        """Return what each commit of a branch changed, oldest first, from its first commit on.

        ``since`` is where to go on: the ``cursor`` of the last change set that was seen, a commit
        id, a tag, a version of the branch, or a snapshot. It ends with the commits that there were
        when it was called.
        """
        count = checked_limit(limit)
        with public_call(timeout):
            feed = Feed(root=self._root, references=self._references, branch=self._branch(branch))
            return feed.since(since, count)

    # Changing.

    def transaction(
        self,
        branch: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        operation_hash: str | None = None,
        check_edges: bool = True,
        timeout: float = OPERATION_SECONDS,
    ) -> Transaction:
        """Begin to change tables together: ``with repo.transaction() as tx: …``.

        The same ``operation_hash`` again gives the first commit, for ever. Without
        ``check_edges`` it is not checked that the ends of edges exist.
        """
        with public_call(timeout):
            target = self._branch(branch)
        if operation_hash is not None:
            check_text("operation_hash", operation_hash)
        author = Author(
            actor=self._actor if actor is None else actor,
            message=message,
            operation_hash=operation_hash,
        )
        return Transaction(
            target,
            root=self._root,
            clock=self._clock,
            author=author,
            check_edges=check_edges,
            timeout=timeout,
        )

    def retry(
        self, fn: Callable[[Transaction], _T], branch: str = MAIN, *, attempts: int = 20, **how: Any
    ) -> _T:
        """Run ``fn(tx)`` in a transaction, and again on a fresh one after each lost race."""
        return retry(lambda: self.transaction(branch, **how), fn, attempts=attempts)

    def publish(
        self,
        changes: Sequence[Change],
        *,
        branch: str = MAIN,
        expected_table_versions: Mapping[str, int] | None = None,
        actor: str | None = None,
        message: str | None = None,
        timeout: float = OPERATION_SECONDS,
    ) -> GraphCommit | None:
        """Publish versions of tables that were written by other means.

        Without changes nothing is written, and the expectations are checked.
        """
        expected = {} if expected_table_versions is None else expected_table_versions
        check_expected(expected)
        check_changes(changes)
        check_author(actor, message)
        with public_call(timeout):
            if not changes:
                check_expectations(self._branch(branch).catalog.refresh().state, expected)
                return None
            pin = self._branch(branch).hold()
            operation = BatchPublish(
                root=self._root,
                intent=Intent(
                    graph_commit_id=new_ulid(),
                    changes=(),
                    expected={},
                    created_at=self._clock(),
                    actor_id=self._actor if actor is None else actor,
                    message=message,
                ),
                changes=tuple(changes),
                expected=dict(expected),
                pin=pin,
                outlast_cleanups=self._references.outlast_cleanups,
            )
            return self._branch(branch).commit(operation, timeout=timeout, pin=pin)

    def plan_evolution(self, new_schema: GraphSchema, *, branch: str = MAIN) -> EvolvePlan:
        """Show what ``evolve`` would do; print it. Nothing is changed."""
        with translate_errors():
            return self._evolver(branch).plan(new_schema)

    @overload
    def evolve(
        self,
        new_schema: GraphSchema,
        *,
        branch: str = ...,
        actor: str | None = ...,
        message: str | None = ...,
        dry_run: Literal[False] = ...,
        timeout: float = ...,
    ) -> GraphCommit | None: ...

    @overload
    def evolve(
        self,
        new_schema: GraphSchema,
        *,
        branch: str = ...,
        actor: str | None = ...,
        message: str | None = ...,
        dry_run: Literal[True],
        timeout: float = ...,
    ) -> EvolvePlan: ...

    def evolve(
        self,
        new_schema: GraphSchema,
        *,
        branch: str = MAIN,
        actor: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
        timeout: float = OPERATION_SECONDS,
    ) -> GraphCommit | EvolvePlan | None:
        """Make a schema that of a branch: types and properties come and go, as one publish.

        What is not in it is dropped, and stays readable in older snapshots only. What cannot be
        done without losing or inventing values is ``InvalidSchema``, with every reason. None means
        that the schema was this one already. With ``dry_run`` the plan is given, and not applied.
        """
        check_author(actor, message)
        with public_call(timeout):
            evolver = self._evolver(branch)
            if dry_run:
                return evolver.plan(new_schema)
            return evolver.evolve(
                new_schema,
                actor=self._actor if actor is None else actor,
                message=message,
                timeout=timeout,
            )

    def revert(
        self,
        commit: str,
        branch: str = MAIN,
        *,
        strategy: MergeStrategy = "error",
        actor: str | None = None,
        message: str | None = None,
        timeout: float = OPERATION_SECONDS,
    ) -> GraphCommit | None:
        """Publish the inverse of a commit, against its first parent; None where nothing is left.

        What was changed again since is ``MergeConflicts``, or for the strategy to decide, as in
        ``branches.merge``: ``theirs`` is what was before the commit.
        """
        named = self._actor if actor is None else actor
        author = author_of(named, message, timeout)
        with public_call(timeout):
            return self._merger(branch, strategy).revert(commit, author).commit

    # Branches, tags and runs.

    @property
    def branches(self) -> Branches:
        """The branches: create, list and delete them."""
        return Branches(
            root=self._root,
            pointers=self._pointers,
            listing=self._listing,
            log=self._log,
            references=self._references,
            clock=self._clock,
            open=self._branch,
            deletion=self._deletion,
            merger=self._merger,
            actor=self._actor,
        )

    @property
    def tags(self) -> Tags:
        """The tags, names of commits that keep their data: create, list and delete them."""
        return Tags(
            root=self._root,
            refs=self._tag_refs,
            references=self._references,
            clock=self._clock,
            actor=self._actor,
        )

    @property
    def runs(self) -> Runs:
        """The runs: work that becomes one commit, and can be taken up by any process."""
        registry = Registry(self._root, self._clock)
        return Runs(
            root=self._root,
            registry=registry,
            clock=self._clock,
            actor=self._actor,
            open=self._branch,
            forget=self._open_branches.forget,
            transact=self.transaction,
            snapshot=self.snapshot,
            beginner=lambda settled: RunCreator(
                root=self._root,
                log=self._log,
                references=self._references,
                registry=registry,
                operations=Operations(self._root),
                clock=self._clock,
                settled=settled,
            ),
        )

    # Maintenance.

    def cleanup(
        self,
        older_than: timedelta = _RETENTION,
        keep_versions: int | None = None,
        *,
        dry_run: bool = True,
        timeout: float = OPERATION_SECONDS,
    ) -> CleanupReport:
        """Remove what is no longer needed; by default only report it, with counts and bytes.

        What was current at any time in the last ``older_than`` stays, and in the last ten minutes
        in any case. So do the newest ``keep_versions`` commits of each branch, whatever a branch, a
        tag or a run stands on, and what the open handles of others may need. No commit goes from
        the log.
        """
        check_retention(older_than, keep_versions)
        with public_call(timeout):
            self._branch(MAIN).catalog.refresh()  # this handle itself needs nothing older
            if not dry_run:
                self._deletion.finish_all()
            cleaner = Cleaner(
                root=self._root,
                clock=self._clock,
                leases=self._leases,
                references=self._references,
                running=self._running,
                fence=self._open_branches.fence,
            )
            return cleaner.clean(
                older_than=older_than, keep_versions=keep_versions, dry_run=bool(dry_run)
            )

    def optimize(
        self,
        tables: Collection[str] | None = None,
        branch: str = MAIN,
        *,
        target_rows: int = _TARGET_ROWS,
        actor: str | None = None,
        message: str | None = None,
        timeout: float = OPERATION_SECONDS,
    ) -> OptimizeReport:
        """Merge small fragments, drop deleted rows from files, build and extend wanted indexes.

        Each table is one commit, beside whatever others publish; one that they publish all the
        time is reported as ``BUSY``. The catalog and the log are compacted, too.
        """
        check_author(actor, message)
        check_target(tables, target_rows)
        with public_call(timeout):
            return Optimizer(
                root=self._root,
                branch=self._branch(branch),
                clock=self._clock,
                actor=self._actor if actor is None else actor,
                message=message,
                target_rows=target_rows,
                timeout=timeout,
            ).optimize(tables)

    def migrate(self, *, dry_run: bool = True, timeout: float = OPERATION_SECONDS) -> MigrateReport:
        """Bring each branch of the catalog to ``INTERNAL_MANIFEST_SCHEMA_VERSION``.

        The next writer of a branch does that by itself. By default only report what to do. Older
        programs that do not know the version cannot read the repository any more.
        """
        with public_call(timeout):
            self._branch(MAIN)
            pointers = self._listing.pointers()
            others = {*pointers, *self._listing.without_pointer(pointers)} - {MAIN}
            return migrate_all(
                [MAIN, *sorted(others)],
                lambda name: self._branch(name).catalog,
                location=self._root.location,
                ready=lambda: check_writable(self._root),
                dry_run=bool(dry_run),
            )

    def verify(
        self,
        *,
        tables: Collection[str] | None = None,
        dangling_edges: bool = False,
        duplicates: bool = True,
        values: bool = False,
        timeout: float = OPERATION_SECONDS,
    ) -> VerifyReport:
        """Check all that should hold: rows of the catalog, names, history, files, counts, ids.

        ``tables`` limits which tables are looked at. Of each file one row is read; with
        ``values`` everything. Without ``duplicates`` ids are not read. Writes nothing, but a lease
        if it takes minutes and that can be written.
        """
        self._root.check_open()
        with public_call(timeout):
            return self._leases.repeat_if_lost(
                lambda: verify(
                    self._root,
                    self._clock,
                    tables=tables,
                    thorough=Thorough(duplicates=duplicates, values=values),
                    dangling_edges=dangling_edges,
                ),
                lambda report: report.ok,
            )

    def repair(self, *, dry_run: bool = True, timeout: float = OPERATION_SECONDS) -> RepairReport:
        """Repair what can be repaired without losing published data; by default only report it."""
        self._root.check_open()
        with public_call(timeout):
            if not dry_run:
                check_writable(self._root)
                self._root.open(MANIFEST).check_version_store()
            return Repairer(
                root=self._root, clock=self._clock, finish_deletion=self._deletion.finish
            ).repair(dry_run=dry_run)

    # Inside.

    def _versions_read(self) -> Mapping[str, VersionsRead]:
        return self._open_branches.versions_read()

    def _branch(self, name: str) -> BranchSession:
        self._root.check_open()
        given: object = name
        if not isinstance(given, str):
            raise InvalidBranchName(name=repr(name), rule="it is text")
        return self._open_branches.get(name)

    def _finish_deletion(self, name: str, native: str) -> bool:
        return self._deletion.finish(name, native)

    @property
    def _deletion(self) -> BranchDeletion:
        return BranchDeletion(
            root=self._root,
            pointers=self._pointers,
            listing=self._listing,
            tags=self._tag_refs,
            runs=self.runs,
            open=self._branch,
            forget=self._open_branches.forget,
        )

    def _find_snapshot(self, reference: str | int | Snapshot) -> Snapshot:
        if isinstance(reference, Snapshot):
            return reference
        return self._references.snapshot_of(self._references.find(reference))

    def _running(self) -> frozenset[str]:
        return frozenset(run.run_id for run in self.runs.list(RunStatus.RUNNING))

    def _merger(self, into: str, strategy: MergeStrategy) -> Merger:
        return Merger(
            root=self._root,
            branch=self._branch(into),
            references=self._references,
            find=self._open_branches.find,
            open=self._branch,
            clock=self._clock,
            strategy=strategy,
        )

    def _evolver(self, branch: str) -> Evolver:
        return Evolver(root=self._root, branch=self._branch(branch), clock=self._clock)


def _root_of(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None,
    durability: Durability | str | None,
) -> RepositoryRoot:
    """Return the root that was asked for. Nothing is read yet."""
    storage = Storage.resolve(uri, storage_options)
    try:
        kind = Durability.FULL if durability is None else Durability(durability)
    except ValueError as error:
        known = " or ".join(repr(each.value) for each in Durability)
        raise invalid_argument(durability, "durability", known) from error
    return RepositoryRoot(storage, kind)
