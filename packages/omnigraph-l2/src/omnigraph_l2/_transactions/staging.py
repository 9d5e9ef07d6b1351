"""The side of a transaction that takes in what other processes have written for it.

Always: rows that come this way are checked like any others when the transaction commits. Where the
caller says at which version of the graph it has checked them itself, what others published since is
checked, and nothing else. Memory is bounded, whatever the number of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import attrs

from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._snapshots.sharing import ReadTarget, shared
from omnigraph_l2._transactions.changing import ChangeTarget, StagedChange
from omnigraph_l2._transactions.data_border import data_border
from omnigraph_l2._transactions.operations import Append, Changed, Operation, Overwrite
from omnigraph_l2._transactions.shipping import Staged, WriteTarget
from omnigraph_l2._transactions.working import WorkingTable
from omnigraph_l2.errors import InvalidRequest

__all__ = ["SharedWork", "Staging"]

_T = TypeVar("_T", Staged, StagedChange)
_GIVEN_BACK_BY: Final[Mapping[type, str]] = {Staged: "WriteTarget", StagedChange: "ChangeTarget"}


@attrs.frozen(kw_only=True)
class SharedWork:
    """A table before and after what a transaction did to it; nobody else can see it yet."""

    before: ReadTarget
    after: ReadTarget
    written: tuple[int, ...]
    """The fragments of ``after`` that came: ``after.scan`` takes them."""
    added: tuple[int, ...]
    """Those of them whose rows were not there before."""


class Staging(ABC):
    """What a transaction offers to those who write for it elsewhere."""

    def stage(self, table_key: str) -> WriteTarget:
        """Give what another process needs to write rows for a table. It can be pickled."""
        base = self._table(table_key).base
        return WriteTarget(table_key=table_key, target=base.write_target, schema=base.schema)

    def append_staged(
        self,
        table_key: str,
        staged: Staged | Iterable[Staged],
        *,
        checked_at: int | None = None,
    ) -> None:
        """Add rows that others wrote with ``stage``.

        ``checked_at`` is a version of the graph, such as ``snapshot.version``. With it the caller
        vouches that in the graph as it was then, with all that this transaction does to it, these
        rows have ids of their own, and their ends are there.
        """
        parts = self._parts("Appending to", table_key, staged, Staged)
        written = tuple(part.written for part in parts)
        since = self._checked("Appending to", table_key, checked_at)
        self._do(self._table(table_key), Append(written=written, ids=None, checked_at=since))

    def overwrite_staged(
        self,
        table_key: str,
        staged: Staged | Iterable[Staged],
        *,
        checked_at: int | None = None,
    ) -> None:
        """Replace all rows by rows that others wrote with ``stage``."""
        parts = self._parts("Overwriting", table_key, staged, Staged)
        written = tuple(part.written for part in parts)
        since = self._checked("Overwriting", table_key, checked_at)
        self._do(self._table(table_key), Overwrite(written=written, ids=None, checked_at=since))

    def stage_changes(self, table_key: str) -> ChangeTarget:
        """Give what another process needs to change rows by id. It can be pickled.

        It changes rows as they were when this transaction began.
        """
        base = self._table(table_key).base
        return ChangeTarget(table_key=table_key, target=base.write_target, schema=base.schema)

    def change_staged(
        self,
        table_key: str,
        staged: StagedChange | Iterable[StagedChange],
        *,
        checked_at: int | None = None,
    ) -> None:
        """Take in what others changed with ``stage_changes``, all of it at once.

        An id that two of them changed, or added, is refused. ``ExpectedVersionMismatch`` where
        somebody else has published changes of the same rows meanwhile.
        """
        parts = self._parts("Changing rows of", table_key, staged, StagedChange)
        written = tuple(part.written for part in parts)
        since = self._checked("Changing rows of", table_key, checked_at)
        self._do(self._table(table_key), Changed(written=written, checked_at=since))

    def share(self, table_key: str) -> SharedWork:
        """Give what other processes need to look at a table as this transaction leaves it.

        It does not count as read: a lost race is run again. So say with ``checked_at`` what was
        found out by it.
        """
        working = self._table(table_key)
        with data_border(table_key), table_border(table_key):
            current = working.apply()
            files, before = current.fragment_files(), working.base.fragment_files()
            known = {each.data for each in before.values()}
            came = [number for number, each in files.items() if each.data not in known]
            kept = working.updated_files
            return SharedWork(
                before=shared(working.base, table_key=table_key, count=working.base.count()),
                after=shared(current, table_key=table_key, count=current.count()),
                written=tuple(came),
                added=tuple(n for n in came if kept.isdisjoint(files[n].data)),
            )

    @abstractmethod
    def _table(self, table_key: str) -> WorkingTable: ...

    @abstractmethod
    def _do(self, working: WorkingTable, operation: Operation) -> None: ...

    @property
    @abstractmethod
    def _seen(self) -> int: ...

    def _checked(self, what: str, table_key: str, version: object) -> int | None:
        if version is None:
            return None
        seen = self._seen
        if isinstance(version, bool) or not isinstance(version, int) or not 0 < version <= seen:
            reason = (
                f"checked_at is a version of the graph up to {seen}, at which this transaction "
                f"began, found {version!r}; take it from a snapshot"
            )
            raise InvalidRequest(what=f"{what} {table_key}", reason=reason)
        return version

    def _parts(self, what: str, table_key: str, staged: object, kind: type[_T]) -> tuple[_T, ...]:
        given = (staged,) if isinstance(staged, kind) else staged
        parts: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) else (given,)
        for part in parts:
            if not isinstance(part, kind):
                reason = f"it takes what a {_GIVEN_BACK_BY[kind]} gave back, found {part!r}"
                raise InvalidRequest(what=f"{what} {table_key}", reason=reason)
            if part.table_key != table_key:
                reason = f"the rows were written for {part.table_key}; stage them again"
                raise InvalidRequest(what=f"{what} {table_key}", reason=reason)
        return parts
