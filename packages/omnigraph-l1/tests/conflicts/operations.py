"""The operations that meet: which kind each is, what it touches, and how to do it with pylance.

Each is done on a dataset of ``scenes``: rows a and b in fragment 0, and c, d, e and f in one
fragment each, 1 to 4. Two that no call of pylance commits are written by hand: the record of a
harmless commit is made theirs, which is all that Lance looks at when ours comes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import attrs
import lance
import pyarrow as pa
from lance import DatasetBasePath, LanceDataset, LanceOperation
from lance.dataset import Index
from lance.file import LanceFileWriter
from lance.fragment import DataFile, write_fragments
from lance.optimize import Compaction

from omnigraph_l1 import Table, TransactionKind

from ..substrate._support import (  # noqa: TID252
    commit,
    commit_append,
    delete,
    manifest_name,
    overwrite,
    people,
    restore,
    upsert,
)

Step = Callable[[LanceDataset], object]
REUSE = "__lance_frag_reuse"
_REUSE_DETAILS = "/lance.table.FragmentReuseIndexDetails"
_UPDATE_CONFIG = b"\xf2\x06"
"""The tag of field 110 in Lance's record: the operation is an UpdateConfig."""


@attrs.frozen
class Operation:
    """One way to change a dataset, and all that the facts of a meeting follow from."""

    kinds: tuple[TransactionKind, ...]
    step: Step = attrs.field(kw_only=True)
    fragments: frozenset[int] = attrs.field(kw_only=True)
    rows: frozenset[str] = attrs.field(kw_only=True)
    keys: frozenset[str] = attrs.field(kw_only=True)
    fields: frozenset[str] = attrs.field(kw_only=True)
    base: frozenset[str] = attrs.field(kw_only=True)
    index: str = attrs.field(kw_only=True)
    """The singleton index that it writes."""
    reuse_index: bool = attrs.field(kw_only=True)
    never: str = attrs.field(kw_only=True)
    """The side on which it cannot stand: "ours" or "theirs"."""


def _op(
    kinds: str,
    step: Step,
    fragments: str = "",
    *,
    rows: str = "",
    keys: str = "",
    fields: str = "",
    base: str = "",
    index: str = "",
    reuse_index: bool = False,
    never: str = "",
) -> Operation:
    return Operation(
        tuple(TransactionKind(kind) for kind in kinds.split()),
        step=step,
        fragments=frozenset(map(int, fragments.split())),
        rows=frozenset(rows.split()),
        keys=frozenset(keys.split()),
        fields=frozenset(fields.split()),
        base=frozenset(base.split()),
        index=index,
        reuse_index=reuse_index,
        never=never,
    )


def _overwrite(dataset: LanceDataset) -> None:
    written = write_fragments(people("o", schema=dataset.schema), dataset, mode="overwrite")
    commit(dataset, LanceOperation.Overwrite(dataset.schema, written), max_retries=5)


def _update_column(dataset: LanceDataset) -> None:
    fragment = dataset.get_fragment(0)
    ids = fragment.to_table(with_row_id=True)["_rowid"][:1]
    changed = pa.table({"_rowid": ids, "x": [9]})
    updated, fields = fragment.update_columns(changed)
    commit(
        dataset,
        LanceOperation.Update(
            updated_fragments=[updated], fields_modified=fields, update_mode="rewrite_columns"
        ),
    )


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


def _index(column: str, *fragments: int) -> Step:
    def step(dataset: LanceDataset) -> None:
        made = dataset.create_index_uncommitted(
            column, "BTREE", name=f"{column}_of_{fragments}", fragment_ids=list(fragments)
        )
        commit(dataset, LanceOperation.CreateIndex([made], []))

    return step


def _reuse_details(dataset: LanceDataset) -> bytes:
    """Read what the index holds from the version file: pylance does not show it."""
    data = (Path(dataset.uri) / "_versions" / manifest_name(dataset.version)).read_bytes()
    at = data.index(_REUSE_DETAILS.encode()) + len(_REUSE_DETAILS)
    assert data[at] == 2 << 3 | 2
    size = shift = 0
    more = True
    while more:
        at += 1
        size |= (data[at] & 0x7F) << shift
        shift += 7
        more = data[at] >= 0x80
    return data[at + 1 : at + 1 + size]


def _trim_reuse_index(dataset: LanceDataset) -> None:
    (found,) = (one for one in dataset.describe_indices() if one.name == REUSE)
    (part,) = found.segments
    old = Index(
        uuid=str(part.uuid),
        name=REUSE,
        fields=[],
        dataset_version=part.dataset_version_at_last_update,
        fragment_ids=set(part.fragment_ids),
        index_version=part.index_version,
        index_details=(_REUSE_DETAILS, _reuse_details(dataset)),
    )
    new = dataclasses.replace(old, uuid=str(uuid4()))
    commit(dataset, LanceOperation.CreateIndex([new], [old]))


def _compact(*fragments: int, defer: bool = False) -> Step:
    def step(dataset: LanceDataset) -> None:
        present = {one.fragment_id for one in dataset.get_fragments()}
        options = {
            "target_rows_per_fragment": 1000,
            "excluded_fragment_ids": sorted(present - set(fragments)),
            "defer_index_remap": defer,
        }
        (task,) = Compaction.plan(dataset, options=options).tasks
        assert {part.id for part in task.fragments} == set(fragments)
        Compaction.commit(dataset, [task.execute(dataset)], options=options)

    return step


def _reserve(dataset: LanceDataset) -> None:
    """Compact, and look at the first of the two commits only."""
    before = lance.dataset(dataset.uri).version
    try:
        _compact(0, 1, 2, 3, 4)(dataset)
    except Exception as error:
        if "This ReserveFragments transaction" in str(error):
            raise
    records = Table.open(dataset.uri).at(before + 1).history(limit=1)
    assert [record.kind for record in records] == [TransactionKind.RESERVE_FRAGMENTS]


def _recorded_as(field: int) -> Step:
    def step(dataset: LanceDataset) -> None:
        dataset.update_config({"written by": "hand"})
        directory = Path(dataset.uri)
        tag = field << 3 | 2
        wanted = bytes([tag & 0x7F | 0x80, tag >> 7])
        for path in (
            directory / "_versions" / manifest_name(dataset.version),
            *(directory / "_transactions").glob(f"{dataset.version - 1}-*.txn"),
        ):
            data = path.read_bytes()
            assert data.count(_UPDATE_CONFIG) == 1
            path.write_bytes(data.replace(_UPDATE_CONFIG, wanted))

    return step


def _metadata(which: str, key: str) -> Step:
    def step(dataset: LanceDataset) -> None:
        update = LanceOperation.UpdateMap({key: "1"})
        argument = {0: update} if which == "field" else update
        commit(dataset, LanceOperation.UpdateConfig(**{f"{which}_metadata_updates": argument}))

    return step


def _base(name: str, path: str) -> Step:
    return lambda dataset: dataset.add_bases([DatasetBasePath(f"{dataset.uri}-{path}", name=name)])


_ALL = "0 1 2 3 4"

EVERYWHERE: dict[str, Operation] = {
    "append": _op("Append", lambda ds: commit_append(ds, "z")),
    "delete a": _op("Delete", lambda ds: delete(ds, "a"), "0", rows="a"),
    "delete b": _op("Delete", lambda ds: delete(ds, "b"), "0", rows="b"),
    "delete c": _op("Delete", lambda ds: delete(ds, "c"), "1", rows="c"),
    "delete all of 0": _op("Delete", lambda ds: delete(ds, "a", "b"), "0", rows="a b"),
    "upsert a": _op("Update", lambda ds: upsert(ds, "a"), "0", rows="a"),
    "upsert c": _op("Update", lambda ds: upsert(ds, "c"), "1", rows="c"),
    "upsert new": _op("Update", lambda ds: upsert(ds, "n")),
    "update column of 0": _op("Update", _update_column, "0", rows="a", fields="x"),
    "overwrite": _op("Overwrite", lambda ds: overwrite(ds, "o")),
    "overwrite with retries": _op("Overwrite", _overwrite),
    "restore": _op("Restore", lambda ds: restore(ds, 1)),
    "compact": _op("ReserveFragments Rewrite", _compact(0, 1, 2, 3, 4), _ALL),
    "compact c d": _op("ReserveFragments Rewrite", _compact(1, 2), "1 2"),
    "reserve": _op("ReserveFragments", _reserve, never="theirs"),
    "index": _op("CreateIndex", _index("id", 0, 1, 2, 3, 4), _ALL, fields="id"),
    "index x in 1": _op("CreateIndex", _index("x", 1), "1", fields="x"),
    "mem wal index": _op(
        "CreateIndex", lambda ds: ds.initialize_mem_wal(unsharded=True), index="mem wal"
    ),
    "drop column": _op("Project", lambda ds: ds.drop_columns(["x"])),
    "add column": _op("Merge", lambda ds: ds.add_columns({"y": "x + 1"}), _ALL),
    "config": _op("UpdateConfig", lambda ds: ds.update_config({"k": "1"}), keys="config:k"),
    "schema metadata": _op("UpdateConfig", _metadata("schema", "k"), keys="schema:k"),
    "replace x in 0": _op("DataReplacement", _replace("x", 0), "0", fields="x"),
    "base p": _op("UpdateBases", _base("p", "one"), base="p"),
    "mem wal state": _op("UpdateMemWalState", _recorded_as(112), never="ours"),
    "reserved by hand": _op("ReserveFragments", _recorded_as(107), never="ours"),
}
"""Each of these meets each of them."""

SOMEWHERE: dict[str, Operation] = {
    "update a": _op(
        "Update",
        lambda ds: ds.update({"x": "5"}, where="id='a'", conflict_retries=0),
        "0",
        rows="a",
    ),
    "upsert b": _op("Update", lambda ds: upsert(ds, "b"), "0", rows="b"),
    "update all of 0": _op("Update", lambda ds: upsert(ds, "a", "b"), "0", rows="a b"),
    "insert k": _op("Update", lambda ds: upsert(ds, "k"), keys="row:k"),
    "insert m": _op("Update", lambda ds: upsert(ds, "m"), keys="row:m"),
    "compact e f": _op("ReserveFragments Rewrite", _compact(3, 4), "3 4"),
    "index id in 0": _op("CreateIndex", _index("id", 0), "0", fields="id"),
    "index of one name": _op(
        "CreateIndex", lambda ds: ds.create_scalar_index("id", "BTREE"), _ALL, fields="id"
    ),
    "config j": _op("UpdateConfig", lambda ds: ds.update_config({"j": "1"}), keys="config:j"),
    "schema metadata j": _op("UpdateConfig", _metadata("schema", "j"), keys="schema:j"),
    "field metadata": _op("UpdateConfig", _metadata("field", "k"), keys="field:k"),
    "table metadata": _op("UpdateConfig", _metadata("table", "k"), keys="table:k"),
    "replace x in 1": _op("DataReplacement", _replace("x", 1), "1", fields="x"),
    "replace id in 0": _op("DataReplacement", _replace("id", 0), "0", fields="id"),
    "base p elsewhere": _op("UpdateBases", _base("p", "two"), base="p"),
    "base q": _op("UpdateBases", _base("q", "three"), base="q"),
    "deferred c d": _op(
        "ReserveFragments Rewrite", _compact(1, 2, defer=True), "1 2", reuse_index=True
    ),
    "deferred e f": _op(
        "ReserveFragments Rewrite", _compact(3, 4, defer=True), "3 4", reuse_index=True
    ),
    "trim reuse index": _op("CreateIndex", _trim_reuse_index, index="reuse", reuse_index=True),
}
"""These meet those that a condition asks for."""

OPERATIONS = {**EVERYWHERE, **SOMEWHERE}
