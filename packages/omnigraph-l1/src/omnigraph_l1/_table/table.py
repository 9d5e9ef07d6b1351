"""The handle that users hold: one dataset, at one version of one lineage. It only delegates.

Always: it never moves. Reading, staging and committing work on the version it was opened at;
what a commit made, or what others committed, is another handle.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1._places import Place, Storage
from omnigraph_l1._table import (
    changing,
    committing,
    creating,
    deleting,
    indexing,
    merging,
    opening,
    refs,
    reshaping,
    restoring,
    shipping,
    staging,
    upkeep,
)
from omnigraph_l1._table.arguments import checked_word
from omnigraph_l1._table.changing import WrittenChanges
from omnigraph_l1._table.fitting import ArrowData
from omnigraph_l1._table.indexing import IndexKind
from omnigraph_l1._table.outcomes import Outcome
from omnigraph_l1._table.pinned import Durability
from omnigraph_l1._table.read_side import ReadSide
from omnigraph_l1._table.refs import TagInfo
from omnigraph_l1._table.shipping import WriteTarget, WrittenFragments
from omnigraph_l1._table.staging import Staged
from omnigraph_l1._table.upkeep import Removed
from omnigraph_l1._versions import check_version_store

__all__ = ["Commit", "Table"]

_TARGET_ROWS = 1024 * 1024


@attrs.frozen(kw_only=True)
class Commit:
    """What became of a commit."""

    table: Table = attrs.field(repr=False, eq=False)
    """A handle on the version that holds it."""
    base_version: int
    version: int
    transaction_id: str | None
    """The id that the commit carries in Lance's own record; None where Lance takes none."""
    follows_base: bool
    """Whether the version is exactly the base plus this change.

    Where it is not, Lance put the change on top of what others had committed meanwhile.
    """
    changed: bool
    """Whether anything was committed: a change of no rows is no commit."""


class Table(ReadSide):
    """One Lance dataset at one version. Make one with ``Table.create`` or ``Table.open``."""

    __slots__ = ()

    @classmethod
    def create(
        cls,
        place: str | os.PathLike[str] | Place | Storage,
        schema: pa.Schema,
        *,
        storage_options: Mapping[str, Any] | None = None,
        config: Mapping[str, str] | None = None,
        durability: Durability | str = Durability.FULL,
    ) -> Table:
        """Make an empty dataset where nothing is yet."""
        storage = Storage.resolve(place, storage_options)
        return cls(
            creating.create(
                storage,
                schema,
                config=config or {},
                durability=_durability(durability, storage),
            )
        )

    @classmethod
    def open(
        cls,
        place: str | os.PathLike[str] | Place | Storage,
        *,
        branch: str | None = None,
        version: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
        durability: Durability | str = Durability.FULL,
        caches: opening.Caches | None = None,
    ) -> Table:
        """Open a lineage (None is main) at a version, or at its head.

        With ``caches`` of its own it does not know what others in this process have read.
        """
        storage = Storage.resolve(place, storage_options)
        return cls(
            opening.open_pinned(
                storage,
                branch=branch,
                version=version,
                durability=_durability(durability, storage),
                caches=caches,
            )
        )

    @classmethod
    def at_target(cls, target: WriteTarget) -> Table:
        """Open what a ``write_target`` of another process points to."""
        return cls(shipping.opened(target))

    def check_version_store(self) -> None:
        """Raise ``WrongVersionStore`` where this must not be written with the store given."""
        check_version_store(self._pinned.dataset, self._pinned.storage)

    def at(self, version: int) -> Table:
        """Give a handle on another version of this lineage."""
        return Table(opening.at_version(self._pinned, version))

    def refresh(self) -> Table:
        """Give a handle on the head of the lineage: this one, where it is the head still."""
        newest = opening.latest(self._pinned)
        return self if newest is self._pinned else Table(newest)

    # Staging: written, seen by nobody.

    def stage_append(self, data: ArrowData) -> Staged:
        """Write new rows."""
        return staging.stage_append(self._pinned, data)

    def stage_upsert(self, data: ArrowData, key: str) -> Staged:
        """Write rows that replace those of the same key, or are new."""
        return staging.stage_upsert(self._pinned, data, key)

    def stage_overwrite(self, data: ArrowData) -> Staged:
        """Write rows that replace all rows."""
        return staging.stage_overwrite(self._pinned, data)

    def stage_delete(self, predicate: str) -> Staged:
        """Mark the rows that a predicate matches as deleted."""
        return deleting.stage_delete(self._pinned, predicate)

    def stage_delete_keys(self, key: str, values: Iterable[Any]) -> Staged:
        """Mark the rows with these keys as deleted."""
        return deleting.stage_delete_keys(self._pinned, key, values)

    def write(self, data: ArrowData) -> WrittenFragments:
        """Write rows as fragments for this lineage, to be staged with ``stage_written``."""
        return shipping.write(self._pinned, data)

    def stage_written(
        self, written: Iterable[WrittenFragments], *, replace_all: bool = False
    ) -> Staged:
        """Take what ``write``, here or by a ``write_target`` elsewhere, has written.

        It is added; with ``replace_all`` it replaces all rows.
        """
        return shipping.stage_written(self._pinned, written, replace_all=replace_all)

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
        return changing.write_changes(
            self._pinned, updated=updated, row_ids=row_ids, inserted=inserted, addresses=addresses
        )

    def stage_changed(self, written: Iterable[WrittenChanges], *, key: str) -> Staged:
        """Take what ``write_changes``, here or elsewhere, has written; see ``fits``."""
        return changing.stage_changed(self._pinned, written, key=key)

    def stage_together(self, changes: Sequence[Staged]) -> Staged:
        """Make one append of several, to be committed at once, in their order.

        Each may be part of one commit only: what is committed twice is there twice.
        """
        return staging.stage_together(self._pinned, changes)

    @property
    def write_target(self) -> WriteTarget:
        """What another process needs to write rows for this lineage."""
        return shipping.target(self._pinned)

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
        another one: by it the handle knows its own commit when a reply is lost. An id that stands
        on another change is refused where it is met, which is when a commit fails; to look for it
        each time would cost a request. After ``OutcomeUnknown`` look for the id yourself before
        you commit again: an append that had landed would be there twice.
        """
        return _told(
            committing.commit(
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

    def merge_exclusively(self, data: ArrowData, *, key: str, write_id: str) -> Commit:
        """Upsert by an annotated key, such that two writers cannot both insert one key."""
        return _told(merging.merge_exclusively(self._pinned, data, key=key, write_id=write_id))

    def restore(self, version: int, *, properties: Mapping[str, str] | None = None) -> Commit:
        """Make the content of an older version the newest."""
        return _told(restoring.restore(self._pinned, version, properties=properties or {}))

    # Columns and annotations: no data is rewritten, and each is one commit.

    def add_columns(self, fields: Sequence[pa.Field]) -> Commit:
        """Add nullable columns at the end, null in every row that is there."""
        return _told(reshaping.add_columns(self._pinned, fields))

    def drop_columns(self, names: Sequence[str]) -> Commit:
        """Drop columns, and the indexes over them. Older versions keep both."""
        return _told(reshaping.drop_columns(self._pinned, names))

    def annotate(
        self,
        *,
        schema_metadata: Mapping[str, str] | None = None,
        field_metadata: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Commit:
        """Merge metadata into that of the schema and of columns, all in one commit.

        The key's annotation (``PRIMARY_KEY``) can be set once, on a column that is not nullable.
        """
        return _told(
            reshaping.annotate(
                self._pinned,
                schema_metadata=schema_metadata or {},
                field_metadata=field_metadata or {},
            )
        )

    def configure(self, settings: Mapping[str, str]) -> Commit:
        """Merge settings into the config of the dataset."""
        return _told(reshaping.configure(self._pinned, settings))

    def replace_schema(self, schema: pa.Schema) -> Commit:
        """Make an empty table with this schema, and its annotations, the next version.

        Indexes go; config and the count of row ids go on, and older versions stay.
        """
        return _told(reshaping.replace_schema(self._pinned, schema))

    # Branches and tags of this dataset.

    def fork(self, name: str, *, fresh: bool = False) -> Table:
        """Start a branch at this version.

        Say ``fresh`` of a name that nobody else ever makes, such as ``unique_branch_name`` gives:
        then a lost reply is recognised, and not told as ``BranchExists``.
        """
        return Table(refs.fork(self._pinned, name, fresh=fresh))

    def delete_branch(self, name: str) -> None:
        """Delete a branch."""
        refs.delete_branch(self._pinned, name)

    def tag(self, name: str) -> TagInfo:
        """Name this version."""
        return refs.create_tag(self._pinned, name)

    def delete_tag(self, name: str) -> None:
        """Delete a tag."""
        refs.delete_tag(self._pinned, name)

    # Upkeep.

    def compact(self, *, target_rows: int = _TARGET_ROWS, drop_deleted: bool = True) -> Commit:
        """Merge fragments that are smaller than the target, and drop rows that are marked deleted.

        Without ``drop_deleted``, fragments that are large enough stay as they are.
        """
        return _told(
            upkeep.compact(self._pinned, target_rows=target_rows, drop_deleted=drop_deleted)
        )

    def create_index(
        self, column: str, kind: IndexKind | str = IndexKind.BTREE, *, name: str | None = None
    ) -> Commit:
        """Build an index over a column."""
        wanted = checked_word(IndexKind, kind, place=self.place, what="the kind of an index")
        return _told(indexing.create_index(self._pinned, column, wanted, name=name))

    def extend_index(self, name: str) -> Commit:
        """Index the rows that were added since."""
        return _told(indexing.extend_index(self._pinned, name))

    def drop_index(self, name: str) -> Commit:
        """Take an index out of the newest version."""
        return _told(indexing.drop_index(self._pinned, name))

    def remove_versions(self, versions: Iterable[int]) -> Removed:
        """Remove versions, and the files that only they need."""
        return upkeep.remove_versions(self._pinned, versions)

    def remove_orphans(self) -> Removed:
        """Remove files that no version names, and that are a week old at the least."""
        return upkeep.remove_orphans(self._pinned)

    def explain_removal(self, versions: Iterable[int]) -> Removed:
        """Tell what ``remove_versions`` would remove; of none, what ``remove_orphans`` would."""
        return upkeep.explain_removal(self._pinned, versions)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (opening.Recipe.of(self._pinned),)


def _reopened(recipe: opening.Recipe) -> Table:
    return Table(recipe.open())


def _durability(given: Durability | str, storage: Storage) -> Durability:
    return checked_word(Durability, given, place=storage.place, what="durability")


def _told(outcome: Outcome) -> Commit:
    return Commit(
        table=Table(outcome.pinned),
        base_version=outcome.base_version,
        version=outcome.version,
        transaction_id=outcome.transaction_id,
        follows_base=outcome.follows_base,
        changed=outcome.changed,
    )
