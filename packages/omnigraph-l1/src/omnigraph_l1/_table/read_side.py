"""What can be asked of the handle that users hold: it only delegates.

Always: nothing is changed, and the answer is that of the version that is open. Branches, tags and
versions are those of the moment: they belong to no version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from lance import LanceDataset

from omnigraph_l1._places import Place
from omnigraph_l1._table import (
    changing,
    comparing,
    deletions,
    history,
    indexing,
    listing,
    opening,
    reading,
    refs,
)
from omnigraph_l1._table.changing import WrittenChanges
from omnigraph_l1._table.delta import Delta, delta
from omnigraph_l1._table.history import VersionRecord
from omnigraph_l1._table.indexing import IndexInfo
from omnigraph_l1._table.listing import VersionFile
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.reading import FragmentFiles
from omnigraph_l1._table.refs import BranchInfo, TagInfo

__all__ = ["ReadSide"]


class ReadSide:
    """The half of a table's handle that changes nothing."""

    __slots__ = ("_pinned",)

    def __init__(self, pinned: Pinned) -> None:
        self._pinned = pinned

    @property
    def place(self) -> Place:
        """Where the dataset is."""
        return self._pinned.place

    @property
    def branch(self) -> str | None:
        """The native branch; None is main."""
        return self._pinned.branch

    @property
    def version(self) -> int:
        """The version that is open."""
        return self._pinned.version

    @property
    def schema(self) -> pa.Schema:
        """The columns, with their annotations."""
        schema: pa.Schema = self._pinned.dataset.schema
        return schema

    def same_columns(self, other: ReadSide) -> bool:
        """Tell whether what was written for the columns of one fits the other.

        A column that was dropped and added again is another one.
        """
        return reading.same_columns(self._pinned, other._pinned)

    def columns(self) -> Mapping[str, str]:
        """Give what tells each column from another that bore its name, by name."""
        return comparing.columns(self._pinned)

    def common_version(self, other: ReadSide) -> int | None:
        """Give the last version that the lineages of both share: None where all, 0 where none."""
        return comparing.common_version(self._pinned, other._pinned)

    @property
    def has_row_ids(self) -> bool:
        """Whether rows keep their ids, and know the version of their last change."""
        return comparing.has_row_ids(self._pinned)

    @property
    def dataset(self) -> LanceDataset:
        """Lance's own handle on this version, to read with. Writing with it proves nothing."""
        self._pinned.guard.check()
        return self._pinned.dataset

    @property
    def manifest_path(self) -> str:
        """Where the file of this version is, as an object store names it: without the bucket."""
        return opening.manifest_path(self._pinned)

    @property
    def config(self) -> Mapping[str, str]:
        """The settings of the dataset, as they stand in the version that is open."""
        return reading.config(self._pinned)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002 - the name in the API contract
        *,
        batch_size: int | None = None,
        with_row_id: bool = False,
        fragments: Collection[int] | None = None,
        offset: int | None = None,
        limit: int | None = None,
        read_ahead: int | None = None,
        with_row_address: bool = False,
        full_batches: bool = False,
        use_index: bool = True,
    ) -> pa.RecordBatchReader:
        """Read rows in batches: all of them, some fragments, or a range in their order.

        ``read_ahead`` is how many bytes Lance may read before they are asked for: else it is 2 GB.
        With ``full_batches`` a batch may hold rows of several fragments, and all but the last have
        the size that was asked for.
        """
        return reading.scan(
            self._pinned,
            columns=columns,
            filter=filter,
            batch_size=batch_size,
            with_row_id=with_row_id,
            fragments=fragments,
            offset=offset,
            limit=limit,
            read_ahead=read_ahead,
            with_row_address=with_row_address,
            full_batches=full_batches,
            use_index=use_index,
        )

    def read(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002
        *,
        with_row_id: bool = False,
        fragments: Collection[int] | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Read rows into memory."""
        return reading.read(
            self._pinned,
            columns=columns,
            filter=filter,
            with_row_id=with_row_id,
            fragments=fragments,
            offset=offset,
            limit=limit,
        )

    def fragments(self) -> dict[int, int]:
        """Count the rows of each fragment, by its number. Costs no request."""
        return reading.fragment_rows(self._pinned)

    def fragment_files(self) -> dict[int, FragmentFiles]:
        """Name the files of each fragment, by its number. Costs no request."""
        return reading.fragment_files(self._pinned)

    def deleted_rows(self, fragment: int) -> pa.UInt32Array | None:
        """Give the places of a fragment's deleted rows; None where that cannot be told."""
        return deletions.deleted_rows(self._pinned, fragment)

    def fits(self, written: Iterable[WrittenChanges]) -> bool:
        """Tell whether changes of rows hold here: whether nobody changed rows beside theirs."""
        return changing.fits(self._pinned, written)

    def marked_places(self, written: WrittenChanges) -> Iterator[tuple[int, pa.UInt32Array]]:
        """Give the places of the rows that a change takes out, fragment by fragment."""
        return changing.marked_places(self._pinned, written)

    def find(
        self,
        key: str,
        values: Iterable[Any],
        *,
        columns: Sequence[str] | None = None,
        fragments: Collection[int] | None = None,
    ) -> pa.Table:
        """Read the rows whose key is one of these values, through an index where there is one."""
        return reading.find(self._pinned, key, values, columns=columns, fragments=fragments)

    def matches_by_index(
        self,
        filter: str,  # noqa: A002
        most: int,
    ) -> dict[int, int] | None:
        """Count the rows of each fragment that match, where an index serves the filter.

        None where none does, or where more rows match than ``most``.
        """
        return reading.matches_by_index(self._pinned, filter, most)

    def count(self, filter: str | None = None) -> int:  # noqa: A002
        """Count rows."""
        return reading.count(self._pinned, filter)

    def delta(self, since: int) -> Delta:
        """Tell what changed after an older version of this lineage."""
        return delta(self._pinned, since)

    def branches(self) -> dict[str, BranchInfo]:
        """List the branches."""
        return refs.list_branches(self._pinned)

    def branch_names(self) -> list[str]:
        """Name the branches, without reading what they are: the cost is that of a listing."""
        return refs.branch_names(self._pinned)

    def has_branch(self, name: str) -> bool:
        """Tell whether there is a branch of that name, with one request."""
        return refs.has_branch(self._pinned, name)

    def tags(self) -> dict[str, TagInfo]:
        """List the tags."""
        return refs.list_tags(self._pinned)

    def indexes(self) -> dict[str, IndexInfo]:
        """List the indexes."""
        return indexing.list_indexes(self._pinned)

    def versions(self) -> list[int]:
        """List the versions of this lineage that are left, oldest first."""
        return opening.versions(self._pinned)

    def version_files(self) -> list[VersionFile]:
        """List the same with sizes and times, as the store has them. No version is opened."""
        return listing.version_files(self._pinned)

    def history(self, *, limit: int | None = None) -> Iterator[VersionRecord]:
        """Tell what made this version and each one before it that is left, the newest first.

        Records are read one at a time. ``limit`` is how many versions to tell of.
        """
        return history.history(self._pinned, limit=limit)

    def __repr__(self) -> str:
        branch = "" if self.branch is None else f", branch {self.branch!r}"
        return f"<Table {self.place}{branch}, version {self.version}>"
