"""``Table``: one dataset at one version of one lineage. It only delegates.

Invariant: it never moves. Reading, staging and committing work on the version it was opened at;
what a commit made, or what others committed, is another handle.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa
from lance import LanceDataset

from omnigraph_l1._dataset import dataset_opener, pinned_dataset
from omnigraph_l1._dataset import durability as durability_module
from omnigraph_l1._dataset.argument_checks import parse_word
from omnigraph_l1._dataset.external_manifest_store import check_version_store
from omnigraph_l1._dataset.pinned_dataset import Durability, FragmentFiles, IndexInfo, PinnedDataset
from omnigraph_l1._read import deletion_vectors, row_reader, version_comparison, version_history
from omnigraph_l1._read.version_comparison import Delta, delta
from omnigraph_l1._read.version_history import VersionFile, VersionRecord
from omnigraph_l1._storage.location import Location, Storage
from omnigraph_l1._write import (
    change_rebase,
    column_indexes,
    dataset_creation,
    native_refs,
    row_changes,
    schema_changes,
    staged_changes,
    staged_deletes,
    table_commit,
    table_compaction,
    version_removal,
    version_restore,
)
from omnigraph_l1._write.column_indexes import IndexKind
from omnigraph_l1._write.native_refs import BranchInfo, TagInfo
from omnigraph_l1._write.row_changes import WrittenChanges
from omnigraph_l1._write.schema_check import ArrowData
from omnigraph_l1._write.staged_changes import Staged, WriteTarget, WrittenFragments
from omnigraph_l1._write.table_commit import CommitResult
from omnigraph_l1._write.version_removal import Removed

__all__ = ["Commit", "Table"]

_TARGET_ROWS = 1024 * 1024


@attrs.frozen(kw_only=True)
class Commit:
    """The result of a commit."""

    table: Table = attrs.field(repr=False, eq=False)
    """A handle on the version that holds it."""
    base_version: int
    version: int
    transaction_id: str | None
    """The id that the commit carries in Lance's own record; None if Lance takes none."""
    follows_base: bool
    """Whether the version is exactly the base plus this change, without commits of others."""
    changed: bool
    """Whether anything was committed: a change of no rows is no commit."""


class Table:
    """One Lance dataset at one version. Make one with ``Table.create`` or ``Table.open``."""

    __slots__ = ("_pinned",)

    def __init__(self, pinned: PinnedDataset) -> None:
        self._pinned = pinned

    @classmethod
    def create(
        cls,
        location: str | os.PathLike[str] | Location | Storage,
        schema: pa.Schema,
        *,
        storage_options: Mapping[str, Any] | None = None,
        config: Mapping[str, str] | None = None,
        durability: Durability | str = Durability.FULL,
    ) -> Table:
        """Make an empty dataset where nothing is yet."""
        storage = Storage.resolve(location, storage_options)
        return cls(
            dataset_creation.create(
                storage,
                schema,
                config=config or {},
                durability=_parse_durability(durability, storage),
            )
        )

    @classmethod
    def open(
        cls,
        location: str | os.PathLike[str] | Location | Storage,
        *,
        branch: str | None = None,
        version: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
        durability: Durability | str = Durability.FULL,
        caches: dataset_opener.Caches | None = None,
    ) -> Table:
        """Open a lineage (None is main) at a version, or at its head.

        With ``caches`` of its own it does not know what others in this process have read.
        """
        storage = Storage.resolve(location, storage_options)
        return cls(
            dataset_opener.open_pinned(
                storage,
                branch=branch,
                version=version,
                durability=_parse_durability(durability, storage),
                caches=caches,
            )
        )

    @classmethod
    def at_target(cls, target: WriteTarget) -> Table:
        """Open what a ``write_target`` of another process points to."""
        return cls(staged_changes.open_target(target))

    def check_version_store(self) -> None:
        """Raise ``WrongVersionStore`` where this must not be written with the store given."""
        if self._pinned.may_have_version_store:
            check_version_store(self._pinned)

    def at(self, version: int) -> Table:
        """Return a handle on another version of this lineage."""
        return Table(dataset_opener.at_version(self._pinned, version))

    def refresh(self) -> Table:
        """Return a handle on the head of the lineage: this one, where it is the head still."""
        newest = dataset_opener.latest(self._pinned)
        return self if newest is self._pinned else Table(newest)

    # Reading: nothing is changed. Branches, tags and versions are those of now.

    @property
    def location(self) -> Location:
        """Where the dataset is."""
        return self._pinned.location

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

    def same_columns(self, other: Table) -> bool:
        """Return whether what was written for the columns of one fits the other.

        A column that was dropped and added again is another one.
        """
        return pinned_dataset.same_columns(self._pinned, other._pinned)

    def columns(self) -> Mapping[str, str]:
        """Return the identity of each column, by name. A column dropped and added has another."""
        return pinned_dataset.columns(self._pinned)

    def common_version(self, other: Table) -> int | None:
        """Return the last version that the lineages of both share: None if all, 0 where none."""
        return version_comparison.common_version(self._pinned, other._pinned)

    @property
    def has_row_ids(self) -> bool:
        """Whether rows keep their ids, and know the version of their last change."""
        return pinned_dataset.has_row_ids(self._pinned)

    @property
    def dataset(self) -> LanceDataset:
        """Lance's own handle on this version, to read with. Writing with it proves nothing."""
        self._pinned.guard.check()
        return self._pinned.dataset

    def make_durable(self) -> None:
        """Flush what this version names, if it may have been written with less durability."""
        durability_module.make_durable(self._pinned)

    @property
    def manifest_path(self) -> str:
        """Where the file of this version is, as an object store names it: without the bucket."""
        return dataset_opener.manifest_path(self._pinned)

    @property
    def config(self) -> Mapping[str, str]:
        """The settings of the dataset, as they stand in the version that is open."""
        return pinned_dataset.config(self._pinned)

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
        return row_reader.scan(
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
        return row_reader.read(
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
        return pinned_dataset.fragment_rows(self._pinned)

    def fragment_files(self) -> dict[int, FragmentFiles]:
        """Return the files of each fragment, by its number. Costs no request."""
        return pinned_dataset.fragment_files(self._pinned)

    def deleted_rows(self, fragment: int) -> pa.UInt32Array | None:
        """Return the offsets of a fragment's deleted rows; None if they cannot be read."""
        return deletion_vectors.deleted_rows(self._pinned, fragment)

    def find(
        self,
        key: str,
        values: Iterable[Any],
        *,
        columns: Sequence[str] | None = None,
        fragments: Collection[int] | None = None,
    ) -> pa.Table:
        """Read the rows whose key is one of these values, through an index where there is one."""
        return row_reader.find(self._pinned, key, values, columns=columns, fragments=fragments)

    def matches_by_index(self, filter: str, most: int) -> dict[int, int] | None:  # noqa: A002
        """Count the matches in each fragment; None without an index, or for more than ``most``."""
        return row_reader.matches_by_index(self._pinned, filter, most)

    def count(self, filter: str | None = None) -> int:  # noqa: A002
        """Count rows."""
        if filter is None:
            return pinned_dataset.count_rows(self._pinned)
        return row_reader.count_matches(self._pinned, filter)

    def delta(self, since: int) -> Delta:
        """Return what changed after an older version of this lineage."""
        return delta(self._pinned, since)

    def branches(self) -> dict[str, BranchInfo]:
        """List the branches."""
        return native_refs.list_branches(self._pinned)

    def branch_names(self) -> list[str]:
        """Return the names of the branches, without reading their records: one listing."""
        return native_refs.branch_names(self._pinned)

    def has_branch(self, name: str) -> bool:
        """Return whether there is a branch of that name, with one request."""
        return native_refs.has_branch(self._pinned, name)

    def tags(self) -> dict[str, TagInfo]:
        """List the tags."""
        return native_refs.list_tags(self._pinned)

    def indexes(self) -> dict[str, IndexInfo]:
        """List the indexes."""
        return pinned_dataset.list_indexes(self._pinned)

    def versions(self) -> list[int]:
        """List the versions of this lineage that are left, oldest first."""
        return dataset_opener.versions(self._pinned)

    def version_files(self) -> list[VersionFile]:
        """List the same with sizes and times, as the store has them. No version is opened."""
        return version_history.version_files(self._pinned)

    def history(self, *, limit: int | None = None) -> Iterator[VersionRecord]:
        """Return what made this version and each one before it that is left, the newest first.

        Records are read one at a time. ``limit`` is the number of versions.
        """
        return version_history.history(self._pinned, limit=limit)

    # Staging: written, not visible yet.

    def stage_append(self, data: ArrowData) -> Staged:
        """Write new rows."""
        return staged_changes.stage_append(self._pinned, data)

    def stage_upsert(self, data: ArrowData, key: str) -> Staged:
        """Write rows that replace those of the same key, or are new."""
        return staged_changes.stage_upsert(self._pinned, data, key)

    def stage_overwrite(self, data: ArrowData) -> Staged:
        """Write rows that replace all rows."""
        return staged_changes.stage_overwrite(self._pinned, data)

    def stage_delete(self, predicate: str) -> Staged:
        """Mark the rows that a predicate matches as deleted."""
        return staged_deletes.stage_delete(self._pinned, predicate)

    def stage_delete_keys(self, key: str, values: Iterable[Any]) -> Staged:
        """Mark the rows with these keys as deleted."""
        return staged_deletes.stage_delete_keys(self._pinned, key, values)

    def write(self, data: ArrowData) -> WrittenFragments:
        """Write rows as fragments for this lineage, to be staged with ``stage_written``."""
        return staged_changes.write_fragments(self._pinned, data)

    def check_files(self, staged: Staged) -> None:
        """Raise ``InvalidRequest`` if a file of a staged change is gone; a request for each."""
        staged_changes.check_staged_files(self._pinned, staged, ask_store=True)

    def stage_written(
        self, written: Iterable[WrittenFragments], *, replace_all: bool = False
    ) -> Staged:
        """Take what ``write``, here or by a ``write_target`` elsewhere, has written.

        It is added; with ``replace_all`` it replaces all rows.
        """
        return staged_changes.stage_written(self._pinned, written, replace_all=replace_all)

    def write_changes(
        self,
        *,
        updated: ArrowData,
        row_ids: Sequence[int] | pa.Array,
        inserted: ArrowData,
        addresses: Any,
    ) -> WrittenChanges:
        """Write changes of rows for this version, to be staged with ``stage_changed``.

        The rows at ``addresses`` are taken out. The updated ones stand for some of them, and keep
        the ids of their rows, given in the same order.
        """
        return row_changes.write_changes(
            self._pinned, updated=updated, row_ids=row_ids, inserted=inserted, addresses=addresses
        )

    def stage_changed(self, written: Iterable[WrittenChanges], *, key: str) -> Staged:
        """Take what ``write_changes``, here or elsewhere, has written; see ``rebase_changes``."""
        return row_changes.stage_changed(self._pinned, written, key=key)

    def rebase_changes(self, written: WrittenChanges) -> WrittenChanges:
        """Return the same for this version, or raise as ``rebase`` does."""
        return change_rebase.rebase_changes(self._pinned, written)

    def rebase(self, staged: Staged) -> Staged:
        """Return a delete or changed rows for this version; ``CommitConflict`` if a row differs."""
        return change_rebase.rebase(self._pinned, staged)

    def stage_together(self, changes: Sequence[Staged]) -> Staged:
        """Make one append of several, to be committed at once, in their order.

        Each may be part of one commit only: what is committed twice is there twice.
        """
        return staged_changes.stage_together(self._pinned, changes)

    @property
    def write_target(self) -> WriteTarget:
        """What another process needs to write rows for this lineage."""
        return staged_changes.write_target(self._pinned)

    # Committing.

    def commit(
        self,
        staged: Staged,
        *,
        properties: Mapping[str, str] | None = None,
        transaction_id: str | None = None,
    ) -> Commit:
        """Commit a staged change on this version.

        A ``transaction_id`` of one's own must be made for this very change and never be given to
        another one: by it the handle knows its own commit when a reply is lost. An id of another
        change is looked for, and refused, only when a commit fails. After ``OutcomeUnknown`` look
        for the id yourself before you commit again: an append that had landed would be there twice.
        """
        return _to_commit(
            table_commit.commit(
                self._pinned, staged, properties=properties or {}, transaction_id=transaction_id
            )
        )

    def append(self, data: ArrowData) -> Commit:
        """Add rows."""
        return self.commit(self.stage_append(data))

    def upsert(self, data: ArrowData, key: str) -> Commit:
        """Replace rows of the same key, and add the others."""
        return self.commit(self.stage_upsert(data, key))

    def overwrite(self, data: ArrowData) -> Commit:
        """Replace all rows."""
        return self.commit(self.stage_overwrite(data))

    def delete(self, predicate: str) -> Commit:
        """Delete the rows that a predicate matches."""
        return self.commit(self.stage_delete(predicate))

    def delete_keys(self, key: str, values: Iterable[Any]) -> Commit:
        """Delete the rows with these keys."""
        return self.commit(self.stage_delete_keys(key, values))

    def cas_merge(self, data: ArrowData, *, key: str, write_id: str) -> Commit:
        """Upsert by an annotated key, such that two writers cannot both insert one key."""
        return _to_commit(table_commit.cas_merge(self._pinned, data, key=key, write_id=write_id))

    def fence(self, *, schema_metadata: Mapping[str, str] | None = None) -> Commit:
        """Commit a version with the same rows, so that merges on older versions are refused.

        It is refused itself if rows have changed since its base. Metadata of the schema may change.
        """
        return _to_commit(schema_changes.fence(self._pinned, schema_metadata=schema_metadata or {}))

    def restore(self, version: int, *, properties: Mapping[str, str] | None = None) -> Commit:
        """Make the content of an older version the newest."""
        return _to_commit(
            version_restore.restore(self._pinned, version, properties=properties or {})
        )

    # Columns and annotations: no data is rewritten, and each is one commit.

    def add_columns(self, fields: Sequence[pa.Field]) -> Commit:
        """Add nullable columns at the end, null in every row that is there."""
        return _to_commit(schema_changes.add_columns(self._pinned, fields))

    def drop_columns(self, names: Sequence[str]) -> Commit:
        """Drop columns, and the indexes over them. Older versions keep both."""
        return _to_commit(schema_changes.drop_columns(self._pinned, names))

    def annotate(
        self,
        *,
        schema_metadata: Mapping[str, str] | None = None,
        field_metadata: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Commit:
        """Merge metadata into that of the schema and of columns, all in one commit.

        The key's annotation (``PRIMARY_KEY``) can be set once, on a column that is not nullable.
        """
        return _to_commit(
            schema_changes.annotate(
                self._pinned,
                schema_metadata=schema_metadata or {},
                field_metadata=field_metadata or {},
            )
        )

    def configure(self, settings: Mapping[str, str]) -> Commit:
        """Merge settings into the config of the dataset."""
        return _to_commit(schema_changes.configure(self._pinned, settings))

    def replace_schema(self, schema: pa.Schema) -> Commit:
        """Make an empty table with this schema, and its annotations, the next version.

        Indexes go; config and the count of row ids go on, and older versions stay.
        """
        return _to_commit(schema_changes.replace_schema(self._pinned, schema))

    # Branches and tags of this dataset.

    def fork(self, name: str, *, fresh: bool = False) -> Table:
        """Start a branch at this version.

        ``fresh`` promises that the name is never created by another caller, as those made by
        ``unique_branch_name``: then a lost reply is recognised instead of raising ``BranchExists``.
        """
        return Table(native_refs.fork(self._pinned, name, fresh=fresh))

    def delete_branch(self, name: str) -> None:
        """Delete a branch."""
        native_refs.delete_branch(self._pinned, name)

    def tag(self, name: str) -> TagInfo:
        """Name this version."""
        return native_refs.create_tag(self._pinned, name)

    def delete_tag(self, name: str) -> None:
        """Delete a tag."""
        native_refs.delete_tag(self._pinned, name)

    # Upkeep.

    def compact(self, *, target_rows: int = _TARGET_ROWS, drop_deleted: bool = True) -> Commit:
        """Merge fragments that are smaller than the target, and drop rows that are marked deleted.

        Without ``drop_deleted``, fragments that are large enough stay as they are.
        """
        return _to_commit(
            table_compaction.compact(
                self._pinned, target_rows=target_rows, drop_deleted=drop_deleted
            )
        )

    def create_index(
        self, column: str, kind: IndexKind | str = IndexKind.BTREE, *, name: str | None = None
    ) -> Commit:
        """Build an index over a column."""
        wanted = parse_word(IndexKind, kind, location=self.location, what="index kind")
        return _to_commit(column_indexes.create_index(self._pinned, column, wanted, name=name))

    def extend_index(self, name: str) -> Commit:
        """Index the rows that were added since."""
        return _to_commit(column_indexes.extend_index(self._pinned, name))

    def drop_index(self, name: str) -> Commit:
        """Take an index out of the newest version."""
        return _to_commit(column_indexes.drop_index(self._pinned, name))

    def remove_versions(self, versions: Iterable[int]) -> Removed:
        """Remove versions, and the files that only they need."""
        return version_removal.remove_versions(self._pinned, versions)

    def remove_orphans(self) -> Removed:
        """Remove files that no version names, and that are a week old at the least."""
        return version_removal.remove_orphans(self._pinned)

    def explain_removal(self, versions: Iterable[int]) -> Removed:
        """Return what ``remove_versions`` would remove; of none, what ``remove_orphans`` would."""
        return version_removal.explain_removal(self._pinned, versions)

    def __repr__(self) -> str:
        branch = "" if self.branch is None else f", branch {self.branch!r}"
        return f"<Table {self.location}{branch}, version {self.version}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (dataset_opener.Recipe.of(self._pinned),)


def _reopen(recipe: dataset_opener.Recipe) -> Table:
    return Table(recipe.open())


def _parse_durability(given: Durability | str, storage: Storage) -> Durability:
    return parse_word(Durability, given, location=storage.location, what="durability")


def _to_commit(outcome: CommitResult) -> Commit:
    return Commit(
        table=Table(outcome.pinned),
        base_version=outcome.base_version,
        version=outcome.version,
        transaction_id=outcome.transaction_id,
        follows_base=outcome.follows_base,
        changed=outcome.changed,
    )
