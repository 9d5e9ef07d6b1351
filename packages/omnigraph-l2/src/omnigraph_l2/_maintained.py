"""What a repository handle does to keep the repository small and quick. It only delegates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from datetime import timedelta
from typing import Final

from omnigraph_l2._branches.pointers import MAIN
from omnigraph_l2._catalog.checking import check_text
from omnigraph_l2._checked import Checked
from omnigraph_l2._errors.translating import border
from omnigraph_l2._given import check_timeout
from omnigraph_l2._maintenance import (
    Cleaner,
    CleanupReport,
    Optimizer,
    OptimizeReport,
    check_retention,
    check_target,
)
from omnigraph_l2._manifest.migrating import MigrateReport, migrate_all
from omnigraph_l2._opening import check_may_publish
from omnigraph_l2._runs import Runs, RunStatus

__all__ = ["Maintained"]

_RETENTION: Final = timedelta(days=7)
_TARGET_ROWS: Final = 1_048_576
_TIMEOUT_SECONDS: Final = 60.0


class Maintained(Checked):
    """The part of a repository handle that looks after the repository."""

    @property
    @abstractmethod
    def runs(self) -> Runs:
        """The runs of the repository."""

    def cleanup(
        self,
        older_than: timedelta = _RETENTION,
        keep_versions: int | None = None,
        *,
        dry_run: bool = True,
    ) -> CleanupReport:
        """Remove what nobody needs any more; first only tell what, with counts and bytes.

        What was current at any time in the last ``older_than`` stays, and so do the newest
        ``keep_versions`` commits of each branch, whatever a branch, a tag or a run stands on, and
        what the open handles of others may need. No commit goes from the log.
        """
        check_retention(older_than, keep_versions)
        with border():
            self._branch(MAIN).catalog.refresh()  # this handle itself needs nothing older
            cleaner = Cleaner(
                root=self._root,
                clock=self._clock,
                leases=self._leases,
                references=self._references,
                running=self._running,
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
        timeout: float = _TIMEOUT_SECONDS,
    ) -> OptimizeReport:
        """Merge small fragments, drop deleted rows from files, build and extend wanted indexes.

        Each table is one commit, beside whatever others publish; one that they publish all the
        time is told as ``BUSY``. The catalog and the log are compacted, too.
        """
        check_text("This optimize", "its actor", actor)
        check_text("This optimize", "its message", message)
        check_timeout("This optimize", timeout)
        check_target(tables, target_rows)
        with border():
            return Optimizer(
                root=self._root,
                branch=self._branch(branch),
                turns=self._turns,
                clock=self._clock,
                actor=self._actor if actor is None else actor,
                message=message,
                target_rows=target_rows,
                timeout=timeout,
            ).optimize(tables)

    def migrate(self, *, dry_run: bool = True) -> MigrateReport:
        """Bring each branch of the catalog to ``INTERNAL_MANIFEST_SCHEMA_VERSION``.

        The next writer of a branch does that by itself; first only tell what would be done. Older
        programs that do not know the version cannot read the repository any more.
        """

        def ready() -> None:
            check_may_publish(self._root)
            self._pointers.probe_once()

        with border():
            self._branch(MAIN)
            pointers = self._listing.pointers()
            others = {*pointers, *self._listing.without_pointer(pointers)} - {MAIN}
            return migrate_all(
                [MAIN, *sorted(others)],
                lambda name: self._branch(name).catalog,
                place=self._root.place,
                ready=ready,
                dry_run=bool(dry_run),
            )

    def _running(self) -> frozenset[str]:
        return frozenset(run.run_id for run in self.runs.list(RunStatus.RUNNING))
