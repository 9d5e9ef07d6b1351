"""Mending what can be mended: what ``repo.repair`` does.

Always: nothing that was published is lost or changed, whoever writes meanwhile: each action is one
that any writer might do, and is told with what became of it. What cannot be mended is said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import attrs

from omnigraph_l1 import L1Error
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.making import keep_history
from omnigraph_l2._branches.pointers import MAIN, Pointer, Pointers
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST
from omnigraph_l2._verifying.catalogs import Shown, newest_commit
from omnigraph_l2._verifying.histories import unlogged
from omnigraph_l2._verifying.remains import (
    LeftOver,
    Torn,
    left_over,
    not_at_head,
    torn_heads,
)
from omnigraph_l2._verifying.report import Finding, Severity, VerifyReport
from omnigraph_l2._verifying.verifying import Looked, look
from omnigraph_l2.errors import OmniGraphError

__all__ = ["RepairAction", "RepairReport", "Repairer"]

_ACTED = declare("l2.repair.acted", "one thing is mended, others are not yet")

_MENDABLE = frozenset(
    {
        "actor-missing", "branch-left-over", "log-behind", "note-missing", "pointer-behind",
        "pointer-missing", "pointer-wrong", "table-not-at-head", "torn-version",
    }
)  # fmt: skip


@attrs.frozen(kw_only=True)
class RepairAction:
    """One thing that can be mended."""

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

    place: str
    dry_run: bool
    actions: tuple[RepairAction, ...]
    not_mended: tuple[Finding, ...]
    """What repair cannot mend: errors and warnings of ``verify`` that need somebody."""

    @property
    def ok(self) -> bool:
        """Whether everything was done, or could be, and nothing is left."""
        return not self.not_mended and all(each.problem is None for each in self.actions)

    def __str__(self) -> str:
        would = "would be done" if self.dry_run else "were tried"
        head = (
            f"{self.place}: {len(self.actions)} repairs {would}, {len(self.not_mended)} cannot be."
        )
        return "\n".join([head, *map(str, self.actions), *map(str, self.not_mended)])


_Deed = tuple[RepairAction, Callable[[], None]]


@attrs.frozen(kw_only=True)
class Repairer:
    """Mends a repository."""

    root: Root
    clock: Callable[[], datetime]
    align: Callable[[str, tuple[str, ...]], None]
    """Bring heads of tables of a branch back to what is published."""

    def repair(self, *, dry_run: bool, align: bool) -> RepairReport:
        """Find what can be mended, and mend it unless it is a dry run."""
        root = self.root.anew()
        try:
            looked = look(root, self.clock)
            actions = []
            for action, do in self._deeds(root, looked, align=align):
                actions.append(action if dry_run else _done(action, do))
        finally:
            root.close()
        return RepairReport(
            place=root.place,
            dry_run=dry_run,
            actions=tuple(actions),
            not_mended=tuple(_others(looked.report, align=align)),
        )

    def _deeds(self, root: Root, looked: Looked, *, align: bool) -> Iterator[_Deed]:
        for torn in torn_heads(root, looked.branches, looked.shown):
            yield _deed(
                "torn-version",
                torn.subject,
                f"version {torn.version}, which a power cut left damaged, is set aside",
                partial(_set_aside, root, torn),
            )
        # Of a catalog that is damaged it is not known what it should say.
        sound = [each for each in looked.branches if each.is_sound]
        for each in sound:
            yield from self._log_deeds(root, each)
            yield from self._pointer_deeds(root, looked, each)
        for left in _children_first(
            left_over(root, looked.there, looked.shown, self.clock()), looked
        ):
            yield _deed(
                "branch-left-over",
                left.subject,
                "it is removed, with what only it has",
                partial(_remove, root, left),
            )
        if align:
            behind = list(not_at_head(root, sound))
            for shown in sound:
                keys = tuple(one.table_key for one in behind if one.shown is shown)
                if keys:
                    yield _deed(
                        "table-not-at-head",
                        f"{', '.join(keys)} of {shown.subject}",
                        "what is published is made the head, and that is published",
                        partial(self.align, shown.name, keys),
                    )

    def _log_deeds(self, root: Root, shown: Shown) -> Iterator[_Deed]:
        try:
            found = unlogged(root, shown.state)
        except (L1Error, OmniGraphError):
            return  # verify tells
        log = GraphLog(root)
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

    def _pointer_deeds(self, root: Root, looked: Looked, shown: Shown) -> Iterator[_Deed]:
        pointers = Pointers(root, self.clock)
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


def _done(action: RepairAction, do: Callable[[], None]) -> RepairAction:
    try:
        do()
    except (L1Error, OmniGraphError) as error:
        return attrs.evolve(action, problem=str(error))
    failpoint(_ACTED)
    return attrs.evolve(action, done=True)


def _set_aside(root: Root, torn: Torn) -> None:
    # What removes nothing clears the head for a writer all the same.
    root.open(torn.path, branch=torn.native).remove_versions([])


def _remove(root: Root, left: LeftOver) -> None:
    if left.path == MANIFEST:
        keep_history(root, left.native)
    try:
        root.open(left.path).delete_branch(left.native)
    except NoSuchBranch:
        return
    finally:
        root.forget(left.path, left.native)


def _children_first(left: list[LeftOver], looked: Looked) -> list[LeftOver]:
    """Sort those that are old enough such that what started from another one goes before it."""
    depth: dict[str, int] = {}
    for native in looked.there.natives:
        steps, above = 0, looked.there.natives[native].parent_branch
        while above in looked.there.natives and above is not None:
            steps, above = steps + 1, looked.there.natives[above].parent_branch
        depth[native] = steps
    return sorted(
        (each for each in left if each.is_old), key=lambda each: -depth.get(each.native, 0)
    )


def _others(report: VerifyReport, *, align: bool) -> Iterator[Finding]:
    """Pick the findings that somebody has to do something about."""
    for each in report.findings:
        skipped = each.kind == "table-not-at-head" and not align
        if each.severity is not Severity.INFO and (each.kind not in _MENDABLE or skipped):
            yield each
