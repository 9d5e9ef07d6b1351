"""The repository: what users hold. It only delegates.

Always: one handle serves many threads of one process. Reading needs no write access.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice
from types import TracebackType
from typing import Any, Literal, NoReturn, TypeVar, overload

from omnigraph_l1 import Durability, Storage, new_ulid
from omnigraph_l2._branches.branches import Branches
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.listing import Listing
from omnigraph_l2._branches.opened import OpenBranches
from omnigraph_l2._branches.pointers import MAIN, Pointers
from omnigraph_l2._branches.starting import Starts
from omnigraph_l2._catalog.changes import Change, Intent
from omnigraph_l2._catalog.checking import check_changes, check_expected, check_text
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.planning import check_expectations
from omnigraph_l2._creating import create
from omnigraph_l2._errors.translating import border
from omnigraph_l2._evolving import EvolvePlan, Evolver
from omnigraph_l2._given import check_timeout, refuse_pickling
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._opening import opened
from omnigraph_l2._publishing.turns import Turns
from omnigraph_l2._runs import Runs
from omnigraph_l2._runs.beginning import Beginner
from omnigraph_l2._runs.operations import Operations
from omnigraph_l2._runs.registry import Registry
from omnigraph_l2._schema import GraphSchema
from omnigraph_l2._snapshots import Snapshot
from omnigraph_l2._snapshots.finding import snapshot_at
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.retrying import retry
from omnigraph_l2._transactions.transaction import Author, Transaction
from omnigraph_l2._transactions.version_facts import check_there, completed
from omnigraph_l2.errors import (
    InvalidBranchName,
    InvalidRequest,
    UnknownCommit,
)

__all__ = ["Repository"]

_T = TypeVar("_T")
_TIMEOUT_SECONDS = 60.0


def _now() -> datetime:
    return datetime.now(timezone.utc)


class Repository:
    """A graph on disk or in an object store. ``init`` makes one, ``open`` opens one."""

    def __init__(self, root: Root, *, actor: str | None, clock: Callable[[], datetime]) -> None:
        self._root = root
        self._actor = actor
        self._clock = clock
        self._turns = Turns(root)
        self._log = GraphLog(root)
        self._pointers = Pointers(root, clock)
        self._listing = Listing(root, self._pointers)
        self._open_branches = OpenBranches(
            root, pointers=self._pointers, listing=self._listing, log=self._log, turns=self._turns
        )

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
            root = _root(uri, storage_options, durability)
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
            root = _root(uri, storage_options, durability)
            repository = cls(root, actor=actor, clock=_now)
            opened(root, repository._branch(MAIN).catalog, repository._pointers)
        return repository

    @property
    def uri(self) -> str:
        """Where the repository is."""
        return self._root.place

    # Reading.

    def snapshot(
        self,
        branch: str = MAIN,
        *,
        version: int | None = None,
        commit: str | None = None,
        as_of: datetime | None = None,
    ) -> Snapshot:
        """Give the graph as it is, or as it was at a version, a commit, or a moment."""
        with border():
            return snapshot_at(
                self._root, self._branch(branch), version=version, commit=commit, as_of=as_of
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
            return target.publish(intent, timeout=timeout)

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

    # Branches and runs.

    @property
    def branches(self) -> Branches:
        """The branches: create, list and delete them."""
        return Branches(
            root=self._root,
            pointers=self._pointers,
            listing=self._listing,
            log=self._log,
            starts=self._starts,
            clock=self._clock,
            open=self._branch,
            forget=self._open_branches.forget,
            runs=self.runs,
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
                starts=self._starts,
                registry=registry,
                operations=Operations(self._root),
                clock=self._clock,
                settled=settled,
            ),
        )

    def flush(self) -> None:
        """Write down in the log what this handle has published, so that other programs see it."""
        with border():
            self._open_branches.flush()

    def close(self) -> None:
        """Flush, and let go of what is open. Closing twice does nothing."""
        if self._root.closed:
            return
        try:
            self.flush()
        finally:
            self._root.close()

    def __enter__(self) -> Repository:  # noqa: PYI034  # Self needs Python 3.11
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

    @property
    def _starts(self) -> Starts:
        return Starts(
            root=self._root,
            listing=self._listing,
            open=self._branch,
            find=self._open_branches.find,
        )

    def _evolver(self, branch: str) -> Evolver:
        return Evolver(
            root=self._root, branch=self._branch(branch), turns=self._turns, clock=self._clock
        )

    def _branch(self, name: str) -> GraphBranch:
        self._root.check_open()
        given: object = name
        if not isinstance(given, str):
            raise InvalidBranchName(name=repr(given), rule="it is text")
        return self._open_branches.get(name)


def _root(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None,
    durability: Durability | str | None,
) -> Root:
    storage = Storage.resolve(uri, storage_options)
    try:
        kind = Durability.FULL if durability is None else Durability(durability)
    except ValueError as error:
        known = " or ".join(repr(each.value) for each in Durability)
        reason = f"durability is {known}, found {durability!r}"
        raise InvalidRequest(what=f"Opening {storage.place}", reason=reason) from error
    return Root(storage, kind)


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
