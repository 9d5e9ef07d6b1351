"""What the commit loop needs from an operation, and what an operation hands to it.

An operation is one change of one branch: a transaction, a merge, a change of the schema, the
publish of a run, the compaction of a table. Operations differ in ``prepare`` and in whether a lost
race may be retried, and in nothing else.

Invariant: ``prepare`` works on the state that it is given and on nothing newer. What it returns is
published only while every table that it wrote or relied on, and every declaration, is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Protocol

import attrs
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.publish_plan import Change, Intent
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2.errors import ExpectedVersionMismatch

__all__ = ["NewVersion", "Operation", "Prepared", "RowFacts", "RowStep"]


@attrs.frozen(kw_only=True)
class RowFacts:
    """What a step did to the rows of a table, as its author collected it while writing them."""

    new_ids: IdSet | None = None
    """The ids of added rows, which must be new; None if there were none."""
    new_ends: tuple[IdSet, IdSet] | None = None
    """The ends of edges that were added or replaced; None if there were none."""
    merges_rows: bool = False
    """Whether rows were added or replaced by id, so that no id can occur twice."""
    replaces_all: bool = False
    """Whether the added rows replace all that were there."""
    removes_rows: bool = False
    """Whether rows were removed. Which ones is found by comparing, where it matters."""


@attrs.frozen(kw_only=True)
class RowStep:
    """One commit on the way from the published version of a table to the new one."""

    before: Table | None
    """None where the table had no visible version."""
    after: Table
    facts: RowFacts | None = None
    """None where other processes wrote the rows: then both versions are compared."""
    checked_at: int | None = None
    """Evidence: the version of the graph at which the caller has checked these rows itself.

    Only what others published after it is checked.
    """
    staged_on: int | None = None
    """The version of the table in which rows that were changed by address were looked up."""


@attrs.frozen(kw_only=True)
class NewVersion:
    """A version of a table that is committed to its dataset and not visible yet."""

    table: Table
    steps: tuple[RowStep, ...] | None = None
    """How it came from the published version; None to have both compared."""
    columns: pa.Schema | None = None
    """What its declaration becomes, for a change of the schema; None where it stays."""
    is_handed_over: bool = False
    """Whether it is the version of another branch, which this one takes over."""


_NO_VERSIONS: Mapping[str, NewVersion] = MappingProxyType({})


@attrs.frozen(kw_only=True)
class Prepared:
    """What an operation publishes if its state still holds."""

    changes: tuple[Change, ...]
    versions: Mapping[str, NewVersion] = _NO_VERSIONS
    """The new version of each table in ``changes``; one that is missing is opened and compared."""
    relies_on: frozenset[str] = frozenset()
    """Tables whose visible version must stay, in addition to those that are written or checked."""
    run_reads: frozenset[str] | None = None
    """On the branch of a run: tables that were read, to be recorded; None elsewhere."""
    check_ends: bool = True
    """Whether the ends of edges are checked. Only a caller who asked for it waives that."""
    confirm: Callable[[], bool] | None = None
    """Called once all is checked, before the publish: False if it has to be prepared again."""


class Operation(Protocol):
    """One change of one branch."""

    @property
    def intent(self) -> Intent:
        """The commit, without its changes."""

    @property
    def expected(self) -> Mapping[str, int]:
        """Expectations of the caller. One that does not hold ends the operation."""

    def lineages(self, lost: int) -> Collection[str]:
        """Return the names to queue for before an attempt; ``lost`` races were lost so far."""

    def prepare(self, state: CatalogState) -> Prepared | None:
        """Write what is to be published onto this state; None if there is nothing to publish."""

    def may_retry(self, mismatch: ExpectedVersionMismatch) -> bool:
        """Return whether a lost race may be retried with the same meaning."""
