"""Operations that meet: which kind each is, what it touches, and how to do it with pylance.

A meeting is of two handles, opened at version 2 (rows a and b in fragment 0, c in fragment 1),
that commit one after the other. Those of the substrate's matrix were measured there, under the
same names; those in ``MORE`` are done here.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from uuid import uuid4

import attrs
import pyarrow as pa
from lance import DatasetBasePath, LanceDataset, LanceOperation
from lance.file import LanceFileWriter
from lance.fragment import DataFile, write_fragments

from omnigraph_l1 import ConflictFacts, Resolution, TransactionKind, conflict

from ..substrate._support import commit, delete, people, upsert  # noqa: TID252
from ..substrate.test_conflict_matrix import OPERATIONS  # noqa: TID252

Step = Callable[[LanceDataset], object]
BADNESS = list(Resolution)


@attrs.frozen(kw_only=True)
class Touched:
    """The kinds of one operation (a compaction is two commits), and what the facts follow from."""

    kinds: tuple[TransactionKind, ...]
    fragments: frozenset[int] = frozenset()
    rows: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    base: frozenset[str] = frozenset()
    reuse_index: bool = False


def _touched(kinds: str, fragments: str = "", **more: str | bool) -> Touched:
    sets = {name: frozenset(what.split()) for name, what in more.items() if isinstance(what, str)}
    return Touched(
        kinds=tuple(TransactionKind(kind) for kind in kinds.split()),
        fragments=frozenset(int(one) for one in fragments.split()),
        reuse_index=bool(more.get("reuse_index")),
        **sets,
    )


TOUCHED: dict[str, Touched] = {
    "append": _touched("Append"),
    "delete a": _touched("Delete", "0", rows="a"),
    "delete b": _touched("Delete", "0", rows="b"),
    "update a": _touched("Update", "0", rows="a"),
    "upsert a": _touched("Update", "0", rows="a"),
    "upsert b": _touched("Update", "0", rows="b"),
    "upsert new": _touched("Update"),
    "overwrite": _touched("Overwrite"),
    "restore": _touched("Restore"),
    "compact": _touched("ReserveFragments Rewrite", "0 1"),
    "index": _touched("CreateIndex", "0 1", fields="id"),
    "drop column": _touched("Project"),
    "add column": _touched("Merge", "0 1"),
    "config": _touched("UpdateConfig", keys="config:k"),
    "schema metadata": _touched("UpdateConfig", keys="schema:k"),
    # Those below are in MORE only.
    "overwrite with retries": _touched("Overwrite"),
    "insert k": _touched("Update", keys="row:k"),
    "insert m": _touched("Update", keys="row:m"),
    "delete all of 0": _touched("Delete", "0", rows="a b"),
    "update all of 0": _touched("Update", "0", rows="a b"),
    "schema metadata j": _touched("UpdateConfig", keys="schema:j"),
    "field metadata": _touched("UpdateConfig", keys="field:k"),
    "table metadata": _touched("UpdateConfig", keys="table:k"),
    "index x in 1": _touched("CreateIndex", "1", fields="x"),
    "index id in 0": _touched("CreateIndex", "0", fields="id"),
    "replace x in 0": _touched("DataReplacement", "0", fields="x"),
    "replace x in 1": _touched("DataReplacement", "1", fields="x"),
    "replace id in 0": _touched("DataReplacement", "0", fields="id"),
    "deferred compact": _touched("ReserveFragments Rewrite", "0 1", reuse_index=True),
    "base p": _touched("UpdateBases", base="p"),
    "base p elsewhere": _touched("UpdateBases", base="p"),
    "base q": _touched("UpdateBases", base="q"),
}


def facts_of(ours: str, theirs: str, *, stable_row_ids: bool = True) -> ConflictFacts:
    """Say all that there is to know of a meeting: nothing is left unknown."""
    mine, other = TOUCHED[ours], TOUCHED[theirs]
    return ConflictFacts(
        overlap=bool(mine.fragments & other.fragments),
        same_rows=bool(mine.rows & other.rows),
        same_key=bool(mine.keys & other.keys),
        same_field=bool(mine.fields & other.fields),
        indexed_field=bool(mine.fields & other.fields),
        stable_row_ids=stable_row_ids,
        our_reuse_index=mine.reuse_index,
        their_reuse_index=other.reuse_index,
        same_index=False,
        same_base=bool(mine.base & other.base),
    )


def specified(ours: str, theirs: str, *, stable_row_ids: bool = True) -> Resolution:
    """Ask the rules; of an operation that is two commits, the worse one counts."""
    facts = facts_of(ours, theirs, stable_row_ids=stable_row_ids)
    pairs = product(TOUCHED[ours].kinds, TOUCHED[theirs].kinds)
    return max((conflict(*pair, facts) for pair in pairs), key=BADNESS.index)


def lands(outcome: Resolution) -> bool:
    """Tell whether ours is in a version then; combined or not, that looks the same."""
    return outcome in {Resolution.COMPATIBLE, Resolution.REBASABLE}


def _overwrite(dataset: LanceDataset) -> None:
    written = write_fragments(people("o", schema=dataset.schema), dataset, mode="overwrite")
    commit(dataset, LanceOperation.Overwrite(dataset.schema, written), max_retries=5)


def _replace(column: str, fragment: int) -> Step:
    def step(dataset: LanceDataset) -> None:
        rows = dataset.get_fragment(fragment).physical_rows
        values = [9] * rows if column == "x" else ["r"] * rows
        field = dataset.schema.field(column)
        data = pa.table({column: values}, schema=pa.schema([field]))
        name = f"{uuid4()}.lance"
        with LanceFileWriter(f"{dataset.uri}/data/{name}", data.schema, version="2.2") as writer:
            writer.write_batch(data)
        ids = [one.id() for one in dataset.lance_schema.fields() if one.name() == column]
        file = DataFile(name, ids, [0], file_major_version=2, file_minor_version=2)
        group = LanceOperation.DataReplacementGroup(fragment, file)
        commit(dataset, LanceOperation.DataReplacement([group]))

    return step


def _index(column: str, fragment: int) -> Step:
    def step(dataset: LanceDataset) -> None:
        made = dataset.create_index_uncommitted(
            column, "BTREE", name=f"{column}_of_{fragment}", fragment_ids=[fragment]
        )
        commit(dataset, LanceOperation.CreateIndex([made], []))

    return step


def _metadata(which: str, key: str) -> Step:
    def step(dataset: LanceDataset) -> None:
        update = LanceOperation.UpdateMap({key: "1"})
        argument = {0: update} if which == "field" else update
        commit(dataset, LanceOperation.UpdateConfig(**{f"{which}_metadata_updates": argument}))

    return step


def _base(name: str, path: str) -> Step:
    return lambda dataset: dataset.add_bases([DatasetBasePath(f"{dataset.uri}-{path}", name=name)])


STEPS: dict[str, Step] = {
    **OPERATIONS,
    "overwrite with retries": _overwrite,
    "insert k": lambda ds: upsert(ds, "k"),
    "insert m": lambda ds: upsert(ds, "m"),
    "delete all of 0": lambda ds: delete(ds, "a", "b"),
    "update all of 0": lambda ds: upsert(ds, "a", "b"),
    "schema metadata j": _metadata("schema", "j"),
    "field metadata": _metadata("field", "k"),
    "table metadata": _metadata("table", "k"),
    "index x in 1": _index("x", 1),
    "index id in 0": _index("id", 0),
    "replace x in 0": _replace("x", 0),
    "replace x in 1": _replace("x", 1),
    "replace id in 0": _replace("id", 0),
    "deferred compact": lambda ds: ds.optimize.compact_files(defer_index_remap=True),
    "base p": _base("p", "one"),
    "base p elsewhere": _base("p", "two"),
    "base q": _base("q", "three"),
}

C, R, X = Resolution.COMPATIBLE, Resolution.RETRYABLE, Resolution.INCOMPATIBLE

MORE: dict[tuple[str, str], Resolution] = {
    ("overwrite with retries", "append"): C,
    ("overwrite with retries", "delete a"): C,
    ("overwrite with retries", "restore"): C,
    ("overwrite with retries", "compact"): C,
    ("overwrite with retries", "index"): C,
    ("overwrite with retries", "drop column"): C,
    ("overwrite with retries", "config"): C,
    ("overwrite with retries", "overwrite"): R,
    ("insert k", "insert k"): R,
    ("insert k", "insert m"): C,
    ("insert k", "delete a"): C,
    ("insert k", "update a"): R,
    ("insert k", "append"): R,
    ("append", "insert k"): C,
    ("config", "table metadata"): C,
    ("table metadata", "overwrite"): C,
    ("schema metadata j", "schema metadata"): X,
    ("field metadata", "overwrite"): X,
    ("field metadata", "restore"): X,
    ("field metadata", "add column"): R,
    ("restore", "field metadata"): X,
    ("restore", "table metadata"): C,
    ("add column", "field metadata"): R,
    ("add column", "table metadata"): C,
    ("index x in 1", "index id in 0"): C,
    ("index x in 1", "replace x in 0"): R,
    ("index x in 1", "replace x in 1"): R,
    ("index id in 0", "replace x in 0"): C,
    ("replace x in 0", "append"): C,
    ("replace x in 0", "delete a"): C,
    ("replace x in 0", "delete all of 0"): X,
    ("replace x in 0", "update a"): R,
    ("replace x in 0", "update all of 0"): X,
    ("replace x in 1", "update a"): C,
    ("replace x in 0", "index x in 1"): R,
    ("replace x in 0", "index id in 0"): C,
    ("replace x in 0", "replace x in 0"): R,
    ("replace x in 0", "replace x in 1"): C,
    ("replace id in 0", "replace x in 0"): C,
    ("replace x in 0", "compact"): R,
    ("replace x in 0", "add column"): R,
    ("replace x in 0", "drop column"): X,
    ("replace x in 0", "overwrite"): X,
    ("replace x in 0", "restore"): X,
    ("delete a", "replace x in 0"): R,
    ("delete a", "replace x in 1"): C,
    ("upsert a", "replace x in 0"): R,
    ("upsert a", "replace x in 1"): C,
    ("compact", "replace x in 0"): R,
    ("add column", "replace x in 0"): R,
    ("drop column", "replace x in 0"): C,
    ("base p", "base p elsewhere"): X,
    ("base p", "base q"): C,
    ("base p", "overwrite"): C,
}
"""Ours, theirs, and how ours fared. Row ids are stable."""

UNSTABLE: dict[tuple[str, str], Resolution] = {
    ("index", "compact"): R,
    ("compact", "index"): R,
    ("index", "deferred compact"): C,
    ("deferred compact", "index"): C,
    ("deferred compact", "deferred compact"): R,
}
"""The same without stable row ids, which a deferred compaction does not go with. Column x has an
index, so that there is something to defer."""
