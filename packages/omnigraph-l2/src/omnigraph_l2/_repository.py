"""The repository: what users hold. It only delegates.

Always: one handle serves many threads of one process. Reading needs no write access.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any, Literal, TypeVar, overload

from omnigraph_l1 import Durability, new_ulid
from omnigraph_l2._branches.branches import Branches
from omnigraph_l2._branches.pointers import MAIN
from omnigraph_l2._catalog.changes import Change, Intent
from omnigraph_l2._catalog.checking import check_changes, check_expected, check_text
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.planning import check_expectations
from omnigraph_l2._creating import create, was_begun
from omnigraph_l2._errors.translating import border
from omnigraph_l2._evolving import EvolvePlan, Evolver
from omnigraph_l2._given import check_timeout
from omnigraph_l2._handle import root_of
from omnigraph_l2._maintained import Maintained
from omnigraph_l2._merging.merger import Merger, author_of
from omnigraph_l2._merging.values import MergeStrategy
from omnigraph_l2._opening import opened
from omnigraph_l2._references.tags import Tags
from omnigraph_l2._runs import Runs
from omnigraph_l2._runs.beginning import Beginner
from omnigraph_l2._runs.operations import Operations
from omnigraph_l2._runs.registry import Registry
from omnigraph_l2._schema import GraphSchema
from omnigraph_l2._snapshots import Snapshot
from omnigraph_l2._transactions.retrying import retry
from omnigraph_l2._transactions.transaction import Author, Transaction
from omnigraph_l2._transactions.version_facts import check_there, completed
from omnigraph_l2.errors import (
    InvalidRequest,
    UnknownCommit,
)

__all__ = ["Repository"]

_T = TypeVar("_T")
_TIMEOUT_SECONDS = 60.0


def _now() -> datetime:
    return datetime.now(timezone.utc)


class Repository(Maintained):
    """A graph on disk or in an object store. ``init`` makes one, ``open`` opens one."""

    @classmethod
    def init(
        cls,
        uri: str | os.PathLike[str],
        schema: GraphSchema | None = None,
        storage_options: Mapping[str, Any] | None = None,
        actor: str | None = None,
        durability: Durability | str | None = None,
    ) -> Repository:
        """Make a repository where nothing is. After a crash, just call it again."""
        with border():
            root = root_of(uri, storage_options, durability)
            create(root, schema or GraphSchema(), actor=actor, clock=_now)
        return cls(root, actor=actor, clock=_now)

    @classmethod
    def open(
        cls,
        uri: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        actor: str | None = None,
        durability: Durability | str | None = None,
    ) -> Repository:
        """Open a repository."""
        with border():
            root = root_of(uri, storage_options, durability)
            repository = cls(root, actor=actor, clock=_now)
            loaded = opened(root, repository._branch(MAIN).catalog, repository._pointers)
            if not was_begun(loaded.table) and not root.first_names("_refs"):
                repository._leases.for_writers_only()
        return repository

    # Reading.

    def snapshot(
        self,
        branch: str = MAIN,
        *,
        version: int | None = None,
        commit: str | None = None,
        tag: str | None = None,
        as_of: datetime | None = None,
    ) -> Snapshot:
        """Give the graph as it is, or as it was at a version, a commit, a tag, or a moment.

        A tag knows its branch by itself.
        """
        with border():
            return self._references.snapshot(
                branch, version=version, commit=commit, tag=tag, as_of=as_of
            )

    def log(self, branch: str = MAIN, limit: int | None = None) -> list[GraphCommit]:
        """List the commits of a branch, newest first."""
        with border():
            return list(islice(self._branch(branch).newest_first(), _count(limit)))

    def commit(self, commit_id: str) -> GraphCommit:
        """Find a commit by its id."""
        with border():
            self._branch(MAIN)
            found = self._open_branches.find(commit_id)
        if found is None:
            raise UnknownCommit(commit_id=commit_id)
        return found

    # Changing.

    def transaction(
        self,
        branch: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        operation_hash: str | None = None,
        check_edges: bool = True,
        timeout: float = _TIMEOUT_SECONDS,
    ) -> Transaction:
        """Begin to change tables together: ``with repo.transaction() as tx: …``.

        The same ``operation_hash`` again gives the first commit, for ever. Without
        ``check_edges`` it is not checked that the ends of edges exist.
        """
        with border():
            target = self._branch(branch)
        check_text("This commit", "an operation_hash", operation_hash)
        check_timeout("This transaction", timeout)
        author = Author(
            actor=self._actor if actor is None else actor,
            message=message,
            operation_hash=operation_hash,
        )
        return Transaction(
            target,
            root=self._root,
            turns=self._turns,
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
        timeout: float = _TIMEOUT_SECONDS,
    ) -> GraphCommit | None:
        """Publish versions of tables that were written by other means.

        Without changes nothing is written, and the expectations are checked.
        """
        expected = {} if expected_table_versions is None else expected_table_versions
        check_expected(expected)
        check_changes(changes)
        _check_publish("This publish", actor, message, timeout)
        with border():
            target = self._branch(branch)
            if not changes:
                check_expectations(target.catalog.refresh().state, expected)
                return None
            hold = target.hold()
            for change in changes:
                check_there(change, self._root)
            intent = Intent(
                graph_commit_id=new_ulid(),
                changes=tuple(completed(change, self._root) for change in changes),
                expected=dict(expected),
                created_at=self._clock(),
                actor_id=self._actor if actor is None else actor,
                message=message,
            )
            return target.publish(intent, timeout=timeout, hold=hold)

    def plan_evolution(self, new_schema: GraphSchema, *, branch: str = MAIN) -> EvolvePlan:
        """Show what ``evolve`` would do; print it. Nothing is changed."""
        with border():
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
        timeout: float = _TIMEOUT_SECONDS,
    ) -> GraphCommit | EvolvePlan | None:
        """Make a schema that of a branch: types and properties come and go, as one publish.

        What is not in it is dropped, and stays readable in older snapshots only. What cannot be
        done without losing or inventing values is ``InvalidSchema``, with every reason. None means
        that the schema was this one already. With ``dry_run`` the plan is given, and not applied.
        """
        _check_publish("This evolve", actor, message, timeout)
        with border():
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
        timeout: float = _TIMEOUT_SECONDS,
    ) -> GraphCommit | None:
        """Publish the inverse of a commit, against its first parent; None where nothing is left.

        What was changed again since is ``MergeConflicts``, or for the strategy to decide, as in
        ``branches.merge``: ``theirs`` is what was before the commit.
        """
        named = self._actor if actor is None else actor
        author = author_of("This revert", named, message, timeout)
        with border():
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
            tags=self._tag_refs,
            clock=self._clock,
            open=self._branch,
            forget=self._open_branches.forget,
            runs=self.runs,
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
            pointers=self._pointers,
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
            turns=self._turns,
            clock=self._clock,
            actor=self._actor,
            open=self._branch,
            forget=self._open_branches.forget,
            transact=self.transaction,
            snapshot=self.snapshot,
            beginner=lambda settled: Beginner(
                root=self._root,
                log=self._log,
                references=self._references,
                registry=registry,
                operations=Operations(self._root),
                clock=self._clock,
                settled=settled,
            ),
        )

    def _merger(self, into: str, strategy: MergeStrategy) -> Merger:
        return Merger(
            root=self._root,
            branch=self._branch(into),
            references=self._references,
            find=self._open_branches.find,
            open=self._branch,
            turns=self._turns,
            clock=self._clock,
            strategy=strategy,
        )

    def _evolver(self, branch: str) -> Evolver:
        return Evolver(
            root=self._root, branch=self._branch(branch), turns=self._turns, clock=self._clock
        )


def _count(limit: object) -> int | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        reason = f"limit is a whole number from 0, or None for all, found {limit!r}"
        raise InvalidRequest(what="Reading the log", reason=reason)
    return min(limit, sys.maxsize)


def _check_publish(what: str, actor: object, message: object, timeout: object) -> None:
    check_text(what, "its actor", actor)
    check_text(what, "its message", message)
    check_timeout(what, timeout)
