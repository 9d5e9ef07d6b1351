"""What a repository handle does to see whether the repository is whole. It only delegates."""

from __future__ import annotations

from collections.abc import Collection

from omnigraph_l2._errors.translating import border
from omnigraph_l2._historic import Historic
from omnigraph_l2._storage.layout import MANIFEST
from omnigraph_l2._verifying import VerifyReport
from omnigraph_l2._verifying.aligning import align as align_heads
from omnigraph_l2._verifying.repairing import Repairer, RepairReport
from omnigraph_l2._verifying.tables import Thorough
from omnigraph_l2._verifying.verifying import verify

__all__ = ["Checked"]


class Checked(Historic):
    """The part of a repository handle that looks for damage, and mends it."""

    def verify(
        self,
        *,
        tables: Collection[str] | None = None,
        dangling_edges: bool = False,
        duplicates: bool = True,
        values: bool = False,
    ) -> VerifyReport:
        """Check all that should hold: rows of the catalog, names, history, files, counts, ids.

        ``tables`` limits which tables are looked at. Of each file one row is read; with
        ``values`` everything. Without ``duplicates`` ids are not read. Writes nothing.
        """
        self._root.check_open()
        with border():
            return verify(
                self._root,
                self._clock,
                tables=tables,
                thorough=Thorough(duplicates=duplicates, values=values),
                dangling_edges=dangling_edges,
            )

    def repair(self, *, dry_run: bool = True, align: bool = False) -> RepairReport:
        """Mend what can be mended without losing what was published; first only tell what.

        ``align`` makes what is published the head of each table, which the original program needs
        to write there.
        """
        self._root.check_open()
        with border():
            if not dry_run:
                self._root.open(MANIFEST).check_version_store()
                self._pointers.probe_once()
            return Repairer(root=self._root, clock=self._clock, align=self._align).repair(
                dry_run=dry_run, align=align
            )

    def _align(self, name: str, table_keys: tuple[str, ...]) -> None:
        align_heads(self._root, self._branch(name), self._turns, self._clock, table_keys)
