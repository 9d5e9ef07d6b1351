"""Repair what can be repaired: the implementation of ``repo.repair``.

Invariant: nothing that was published is lost or changed, even with concurrent writers, because each
action is one that any writer may do. Each action is reported with its result, and so is what cannot
be repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import attrs

from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.native_branches import keep_history
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._maintenance.leftover_report import (
    Leftover,
    TornVersion,
    find_leftovers,
    find_torn_heads,
)
from omnigraph_l2._maintenance.verify import CheckedRepository, check_repository
from omnigraph_l2._maintenance.verify_catalog import Shown, newest_commit
from omnigraph_l2._maintenance.verify_history import find_unlogged
from omnigraph_l2._maintenance.verify_report import Finding, Severity, VerifyReport
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.branch_registry import MAIN, BranchPointers, Pointer, is_hidden
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import OmniGraphError

__all__ = ["RepairAction", "RepairReport", "Repairer"]

_ACTED = declare("l2.repair.acted", "one thing is mended, others are not yet")

_MENDABLE = frozenset(
    {
        "actor-missing", "branch-closed", "branch-left-over", "log-behind", "note-missing",
        "pointer-behind", "pointer-missing", "pointer-wrong", "torn-version",
    }
)  # fmt: skip


@attrs.frozen(kw_only=True)
class RepairAction:
    """One thing that can be repaired."""

    kind: str
    """The kind of the finding that it mends."""
    subject: str
    detail: str
    """What is done."""
    done: bool = False
    problem: str | None = None
    """Why it could not be done."""

    def __str__(self) -> str:
        became = (
            "done" if self.done else f"failed: {self.problem}" if self.problem else "to be done"
        )
        return f"{self.kind}: {self.subject}: {self.detail} ({became})"


@attrs.frozen(kw_only=True)
class RepairReport:
    """What ``repo.repair`` did, or would do. Print it."""

    location: str
    dry_run: bool
    actions: tuple[RepairAction, ...]
    not_mended: tuple[Finding, ...]
    """What repair cannot mend: errors and warnings of ``verify`` that a person has to resolve."""

    @property
    def ok(self) -> bool:
        """Whether everything was done, or could be, and nothing is left."""
        return not self.not_mended and all(each.problem is None for each in self.actions)

    def __str__(self) -> str:
        would = "would be done" if self.dry_run else "were tried"
        left = len(self.not_mended)
        head = f"{self.location}: {len(self.actions)} repairs {would}, {left} cannot be."
        return "\n".join([head, *map(str, self.actions), *map(str, self.not_mended)])


_Deed = tuple[RepairAction, Callable[[], None]]


@attrs.frozen(kw_only=True)
class Repairer:
    """Repairs a repository."""

    root: RepositoryRoot
    clock: Callable[[], datetime]
    finish_deletion: Callable[[str, str], object]
    """Finishes the deletion of a branch, by its name and native branch."""

    def repair(self, *, dry_run: bool) -> RepairReport:
        """Find what can be repaired, and repair it unless it is a dry run."""
        root = self.root.without_caches()
        try:
            looked = check_repository(root, self.clock)
            actions = []
            for action, do in self._deeds(root, looked):
                actions.append(action if dry_run else _carry_out(action, do))
        finally:
            root.close()
        return RepairReport(
            location=root.location,
            dry_run=dry_run,
            actions=tuple(actions),
            not_mended=tuple(_findings_to_resolve(looked.report)),
        )

    def _deeds(self, root: RepositoryRoot, looked: CheckedRepository) -> Iterator[_Deed]:
        for torn in find_torn_heads(root, looked.branches, looked.shown):
            yield _deed(
                "torn-version",
                torn.subject,
                f"version {torn.version}, which a power cut left damaged, is set aside",
                partial(_set_aside, root, torn),
            )
        # Of a catalog that is damaged it is not known what it should say.
        sound = [each for each in looked.branches if each.is_sound]
        for each in sound:
            if each.state.closed_at and each.native is not None and not is_hidden(each.native):
                yield _deed(
                    "branch-closed",
                    each.subject,
                    "its deletion is finished",
                    partial(self.finish_deletion, each.name, each.native),
                )
                continue
            yield from self._log_deeds(root, each)
            yield from self._pointer_deeds(root, looked, each)
        for left in _children_first(
            find_leftovers(root, looked.there, looked.shown, self.clock()), looked
        ):
            yield _deed(
                "branch-left-over",
                left.subject,
                "it is removed, with what only it has",
                partial(_remove, root, left),
            )

    def _log_deeds(self, root: RepositoryRoot, shown: Shown) -> Iterator[_Deed]:
        try:
            found = find_unlogged(root, shown.state)
        except OmniGraphError:
            return  # verify reports it
        log = CommitLog(root)
        deeds: list[tuple[str, Sequence[GraphCommit], str, Callable[[Any], object]]] = [
            ("log-behind", found.commits, "commits", lambda _: log.complete(shown.state)),
            ("actor-missing", found.without_actor, "actors of commits", log.add_actors),
            ("note-missing", found.without_note, "notes of commits", log.add_notes),
        ]
        for kind, commits, what, add in deeds:
            if commits:
                yield _deed(
                    kind,
                    f"the log of {shown.subject}",
                    f"{len(commits)} {what} are added",
                    partial(add, commits),
                )

    def _pointer_deeds(
        self, root: RepositoryRoot, looked: CheckedRepository, shown: Shown
    ) -> Iterator[_Deed]:
        pointers = BranchPointers(root, self.clock)
        head = newest_commit(root, shown.state)
        found = {each.kind for each in looked.report.findings if each.subject == shown.subject}
        version = shown.state.version
        commit_id = None if head is None else head.graph_commit_id
        if "pointer-missing" in found:
            now = self.clock()
            made = Pointer(
                name=MAIN,
                native_branch=None,
                parent_branch=None,
                parent_manifest_version=None,
                manifest_version=version,
                head_commit_id=commit_id,
                created_at=now,
                updated_at=now,
            )
            yield _deed(
                "pointer-missing",
                shown.subject,
                "its pointer is made",
                lambda: pointers.create(made),
            )
        for kind in ("pointer-behind", "pointer-wrong"):
            if kind in found:
                yield _deed(
                    kind,
                    shown.subject,
                    f"its pointer is moved to version {version}",
                    lambda: pointers.advance(shown.name, shown.native, version, commit_id),
                )


def _deed(kind: str, subject: str, detail: str, do: Callable[[], object]) -> _Deed:
    def act() -> None:
        do()

    return RepairAction(kind=kind, subject=subject, detail=detail), act


def _carry_out(action: RepairAction, do: Callable[[], None]) -> RepairAction:
    try:
        do()
    except OmniGraphError as error:
        return attrs.evolve(action, problem=str(error))
    failpoint(_ACTED)
    return attrs.evolve(action, done=True)


def _set_aside(root: RepositoryRoot, torn: TornVersion) -> None:
    # What removes nothing clears the head for a writer all the same.
    root.open(torn.path, branch=torn.native).remove_versions([])


def _remove(root: RepositoryRoot, left: Leftover) -> None:
    if left.path == MANIFEST:
        keep_history(root, left.native)
    try:
        root.open(left.path).delete_branch(left.native)
    except NoSuchBranch:
        return
    finally:
        root.forget(left.path, left.native)


def _children_first(left: list[Leftover], looked: CheckedRepository) -> list[Leftover]:
    """Return the old leftovers, each before the one that it started from."""
    depth: dict[str, int] = {}
    for native in looked.there.natives:
        steps, above = 0, looked.there.natives[native].parent_branch
        while above in looked.there.natives and above is not None:
            steps, above = steps + 1, looked.there.natives[above].parent_branch
        depth[native] = steps
    return sorted(
        (each for each in left if each.is_old), key=lambda each: -depth.get(each.native, 0)
    )


def _findings_to_resolve(report: VerifyReport) -> Iterator[Finding]:
    """Select the findings that a person has to resolve."""
    for each in report.findings:
        if each.severity is not Severity.INFO and each.kind not in _MENDABLE:
            yield each
