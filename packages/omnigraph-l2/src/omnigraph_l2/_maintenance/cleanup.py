"""Remove unneeded versions, orphaned files, forks and tickets of dead processes, expired leases.

``cleanup_plan`` decides which versions are removed. Invariant: each removal is independent: an
interrupted cleanup does no harm, and the next one continues. Several may run at once. A cleanup
whose lease was considered expired while it was suspended stops, because what it has read may be
outdated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Final

import attrs

from omnigraph_l1 import (
    BranchInfo,
    Removed,
    Table,
    list_objects,
    remove_object,
    time_of_store,
)
from omnigraph_l1.errors import DatasetNotFound, L1Error, UnknownBranch
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.native_branches import keep_history
from omnigraph_l2._branch.revision_resolver import RevisionResolver
from omnigraph_l2._commit.lease_status import LeaseStatus, expire, read_lease_status, store_time
from omnigraph_l2._commit.leases import Leases, Pin
from omnigraph_l2._commit.writer_queue import drawn_at
from omnigraph_l2._maintenance.cleanup_plan import (
    CatalogLine,
    CleanupPlan,
    RetentionPolicy,
    plan_cleanup,
)
from omnigraph_l2._maintenance.inventory import unless_removed
from omnigraph_l2._maintenance.maintenance_reports import CleanupReport, Swept
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import (
    BRANCH_REFS,
    COMMIT_ACTORS,
    COMMIT_NOTES,
    COMMITS,
    COMMITS_KEPT,
    LEASE_REFS,
    MANIFEST,
    OPERATION_REFS,
    RUN_ACTORS,
    RUNS,
    TAG_REFS,
    TURNS,
)
from omnigraph_l2._store.branch_registry import is_owned_by
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import InvalidRequest, OmniGraphError, StorageError

__all__ = ["Cleaner"]

_LOGS: Final = (COMMITS, COMMITS_KEPT, COMMIT_ACTORS, COMMIT_NOTES, RUNS, RUN_ACTORS)
_SKEW: Final = timedelta(minutes=30)

_ANNOUNCED = declare("l2.cleanup.announced", "the lease of the one who cleans up says so")
_PLANNED = declare("l2.cleanup.planned", "it is known what goes, and nothing is gone yet")
_FORK = declare("l2.cleanup.fork", "an unneeded native branch is gone from one dataset")
_TABLE = declare("l2.cleanup.table", "versions of one lineage of a table are gone")
_CATALOG = declare("l2.cleanup.catalog", "versions of one branch of the catalog are gone")
_LOG = declare("l2.cleanup.log", "versions of one lineage of the log are gone")
_TICKETS = declare("l2.cleanup.tickets", "tickets of dead processes are gone")


@attrs.frozen(kw_only=True)
class Cleaner:
    """Cleans up one repository."""

    root: RepositoryRoot
    clock: Callable[[], datetime]
    leases: Leases
    references: RevisionResolver
    running: Callable[[], frozenset[str]]
    """Name the runs that are at work."""
    fence: Callable[[], None]
    """Ends all attempts to publish that were checked before."""
    hold: Pin | None = None
    """What it has known since it said that it cleans up; None in a dry run."""

    def clean(
        self, *, older_than: timedelta, keep_versions: int | None, dry_run: bool
    ) -> CleanupReport:
        """Remove what is not needed; in a dry run only report it."""
        if dry_run:
            with suppress(L1Error):
                self.leases.renew()  # so that it says what this handle needs now
            now = datetime.now(timezone.utc)
            kept = self._retention(older_than, keep_versions, now)
            return self.carry_out(kept, now, CleanupReport(dry_run=True))
        self.leases.announce(cleaning=True)
        try:
            failpoint(_ANNOUNCED)
            now, files_now = self._store_times()
            kept = self._retention(older_than, keep_versions, files_now)
            cleaner = attrs.evolve(self, hold=self.leases.hold(writes=True))
            return cleaner.carry_out(kept, now, CleanupReport(dry_run=False))
        finally:
            with suppress(L1Error):
                self.leases.announce(cleaning=False)

    def _retention(
        self, older_than: timedelta, keep_versions: int | None, files_now: datetime
    ) -> RetentionPolicy:
        """Return what stays; ``files_now`` is by the clock of the store of the data."""
        return RetentionPolicy(
            now=self.clock(),
            older_than=older_than,
            keep_versions=keep_versions,
            visible_since=files_now - timedelta(seconds=self.leases.short_read_seconds),
        )

    def _store_times(self) -> tuple[datetime, datetime]:
        """Return the time by the clock of the leases, and by that of the files.

        Raise if the local clock differs too much from either.
        """
        here = datetime.now(timezone.utc)
        there = store_time(self.root, self.leases.name)
        if there is None:
            detail = "the lease that was just written cannot be read"
            raise StorageError(location=self.root.location, detail=detail)
        _refuse_skew(here, there, "the store")
        if not self.root.storage.location.dynamodb_table:
            return there, there
        # The leases are in DynamoDB, and the files have the time of the store of the data.
        files_now = time_of_store(self.root.child(TURNS))
        _refuse_skew(here, files_now, "the store of the data")
        return there, files_now

    def carry_out(
        self, wanted: RetentionPolicy, now: datetime, report: CleanupReport
    ) -> CleanupReport:
        """Remove what is not needed, or only report it; ``now`` is by the clock of the leases."""
        buried: list[int] = []

        def leases() -> LeaseStatus:
            found = read_lease_status(self.root, now)
            while not report.dry_run and not expire(self.root, found.expired, self.fence):
                found = read_lease_status(self.root, now)
            buried.append(len(found.expired))
            return found

        plan = plan_cleanup(
            self.root,
            self.references,
            clock=self.clock,
            running=self.running,
            leases=leases,
            wanted=wanted,
        )
        failpoint(_PLANNED)
        parts = [attrs.evolve(report, leases=Swept(sum(buried))), self._forks(plan, report)]
        if plan.holds_tables_back(datetime.now(timezone.utc)):
            parts.append(attrs.evolve(report, held_back=True))
        else:
            paths = sorted(plan.needs.paths)
            parts += self.root.at_once(lambda path: self._table(path, plan, report), paths)
        for line in plan.lines:
            with unless_removed(self.root, MANIFEST, line.native):
                parts.append(self._catalog(line, plan, report))
        parts += [self._log(path, plan, report) for path in _LOGS]
        parts += [self._tickets(plan, report), self._documents(report)]
        for part in parts:
            report += part
        return report

    # Forks of dead processes.

    def _forks(self, plan: CleanupPlan, report: CleanupReport) -> CleanupReport:
        """Remove unnamed native branches: first those of the catalog, each with its descendants.

        Where Lance refuses, because something started from it, everything that belongs to it stays.
        """
        swept = Swept()
        listed = {MANIFEST: dict(plan.there.natives)}
        for path in (COMMITS, *sorted(plan.needs.paths)):
            with suppress(DatasetNotFound):
                listed[path] = self.root.open(path).branches()
        refused: set[str] = set()
        for path, natives in listed.items():
            dead = [info for native, info in natives.items() if plan.is_dead(native, info)]
            for info in sorted(dead, key=_youngest_first):
                if any(is_owned_by(info.name, each) for each in refused):
                    continue
                size = self._size_of_fork(path, info.name)
                if report.dry_run or self._remove_branch(path, info.name):
                    swept += Swept(1, size)
                else:
                    refused.add(info.name)
        return attrs.evolve(_nothing(report), forks=swept)

    def _remove_branch(self, path: str, native: str) -> bool:
        self._check_lease()
        try:
            if path == MANIFEST:
                keep_history(self.root, native)
            self.root.open(path).delete_branch(native)
        except UnknownBranch:
            pass
        except OmniGraphError as error:
            emit("fork_left_behind", location=self.root.location, path=path, error=str(error))
            return False
        finally:
            self.root.forget(path, native)
        failpoint(_FORK)
        return True

    def _size_of_fork(self, path: str, native: str) -> int:
        return sum(each.size for each in list_objects(self.root.child(f"{path}/tree/{native}")))

    # Versions.

    def _table(self, path: str, plan: CleanupPlan, report: CleanupReport) -> CleanupReport:
        """Remove versions, and orphans, of all lineages of one table."""
        found = _nothing(report)
        try:
            main = self.root.open(path)
        except DatasetNotFound:
            return found
        natives = main.branches()
        for native in [None, *natives]:
            if native is not None and plan.is_dead(native, natives[native]):
                continue
            with unless_removed(self.root, path, native):
                table = main if native is None else self.root.open(path, branch=native)
                going = plan.expired_table_versions(
                    path, native, table.version_files(), natives.values()
                )
                found += self._lineage(table, going, report)
        return found

    def _lineage(self, table: Table, going: Sequence[int], report: CleanupReport) -> CleanupReport:
        orphans = table.explain_removal([]) if report.dry_run else table.remove_orphans()
        found = attrs.evolve(
            _nothing(report),
            orphan_files=Swept(orphans.data_files, orphans.bytes),
            failed=orphans.failed,
        )
        if not going:
            return found
        removed = self._remove(table, going, report)
        size = removed.bytes - (orphans.bytes if report.dry_run else 0)
        files = removed.data_files - (orphans.data_files if report.dry_run else 0)
        failpoint(_TABLE)
        return found + attrs.evolve(
            _nothing(report),
            table_versions=Swept(removed.versions, size),
            data_files=files,
            failed=removed.failed,
        )

    def _catalog(
        self, line: CatalogLine, plan: CleanupPlan, report: CleanupReport
    ) -> CleanupReport:
        """Remove versions of one branch of the catalog that can no longer be named."""
        going = plan.expired_catalog_versions(line)
        if not going:
            return _nothing(report)
        removed = self._remove(line.table, going, report)
        failpoint(_CATALOG)
        return attrs.evolve(
            _nothing(report),
            catalog_versions=Swept(removed.versions, removed.bytes),
            failed=removed.failed,
        )

    def _log(self, path: str, plan: CleanupPlan, report: CleanupReport) -> CleanupReport:
        """Remove old versions of one dataset of the log; the newest version has all rows."""
        found = _nothing(report)
        try:
            main = self.root.open(path)
        except DatasetNotFound:
            return found
        natives = main.branches()
        for native in [None, *natives]:
            if native is not None and plan.is_dead(native, natives[native]):
                continue
            with unless_removed(self.root, path, native):
                table = main if native is None else self.root.open(path, branch=native)
                going = plan.expired_log_versions(native, table.version_files(), natives.values())
                if going:
                    removed = self._remove(table, going, report)
                    found += attrs.evolve(
                        _nothing(report),
                        log_versions=Swept(removed.versions, removed.bytes),
                        failed=removed.failed,
                    )
                    failpoint(_LOG)
        return found

    def _remove(self, table: Table, versions: Sequence[int], report: CleanupReport) -> Removed:
        newest = table.refresh()
        if report.dry_run:
            return newest.explain_removal(versions)
        self._check_lease()
        return newest.remove_versions(versions)

    def _check_lease(self) -> None:
        """Raise ``LeaseLost`` where others may rely by now on what is to be removed."""
        if self.hold is not None:
            self.hold.check()

    # Small things.

    def _tickets(self, plan: CleanupPlan, report: CleanupReport) -> CleanupReport:
        """Remove tickets of dead processes. On local disk there are locks instead, which stay."""
        if self.root.storage.location.is_local:
            return _nothing(report)
        turns, swept = self.root.child(TURNS), Swept()
        for each in list_objects(turns):
            if drawn_at(each.name) is not None and each.modified < plan.quiet_since:
                if not report.dry_run:
                    remove_object(turns, each.name)
                swept += Swept(1, each.size)
        failpoint(_TICKETS)
        return attrs.evolve(_nothing(report), tickets=swept)

    def _documents(self, report: CleanupReport) -> CleanupReport:
        """Remove what deleted documents leave in a store."""
        if report.dry_run:
            return _nothing(report)
        directories = (BRANCH_REFS, TAG_REFS, OPERATION_REFS, LEASE_REFS)
        removed = sum(self.root.refs(each).tidy() for each in directories)
        return attrs.evolve(_nothing(report), documents=Swept(removed))


def _refuse_skew(here: datetime, there: datetime, whose: str) -> None:
    if abs(here - there) > _SKEW:
        reason = f"this machine says it is {here.isoformat()}, {whose} {there.isoformat()}"
        raise InvalidRequest(what="clock of this machine", reason=f"{reason}. Set the clock")


def _nothing(report: CleanupReport) -> CleanupReport:
    return CleanupReport(dry_run=report.dry_run)


def _youngest_first(info: BranchInfo) -> tuple[float, str]:
    return -info.created_at.timestamp(), info.name
