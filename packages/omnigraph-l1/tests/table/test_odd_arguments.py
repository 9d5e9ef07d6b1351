"""Whatever is given to a public call: what it raises, if anything, is an error of ours."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import JsonRefs, Location, Storage, Table, read_object, table_path, type_hash
from omnigraph_l1 import unique_branch_name as unique
from omnigraph_l1.errors import InvalidName, InvalidRequest, L1Error

ODD: list[Any] = [
    None, 5, -1, 1.5, True, b"x", "", "ü", "\ud800", "a\0b", "`", "..", "/", "main", "x" * 5000,
    [], {}, [None], ["\ud800"], [5], [-(2**70)], [1.5], [[]], {"a": 1}, {5: "x"}, {"id": 5},
    {"a": "\ud800"}, {"id": {"a": None}}, object(), 2**70, -(2**70), rows("z"), rows(), SCHEMA,
    pa.schema([]), pa.field("x", pa.string()), [pa.field("", pa.string())],
    [pa.field("x", pa.month_day_nano_interval())], pa.schema([("x", pa.int8()), ("x", pa.int8())]),
    pa.schema([("x", pa.run_end_encoded(pa.int32(), pa.string()))]),
    pa.schema([("x", pa.dense_union([pa.field("a", pa.int8())]))]),
]  # fmt: skip

CALLS: dict[str, Callable[[Table, Any], object]] = {
    "open at": lambda table, odd: Table.open(odd) if not isinstance(odd, str) else None,
    "open branch": lambda table, odd: Table.open(table.location, branch=odd),
    "open durability": lambda table, odd: Table.open(table.location, durability=odd),
    "open options": lambda table, odd: Table.open(table.location, storage_options=odd),
    "create": lambda table, odd: Table.create(table.location / "below", odd),
    "columns": lambda table, odd: table.read(odd),
    "filter": lambda table, odd: table.read(filter=odd),
    "fragments": lambda table, odd: table.read(fragments=odd),
    "offset": lambda table, odd: table.read(offset=odd),
    "limit": lambda table, odd: table.read(limit=odd),
    "batch size": lambda table, odd: table.scan(batch_size=odd).read_all(),
    "find": lambda table, odd: table.find(odd, ["a"]),
    "find values": lambda table, odd: table.find("age", odd),
    "find columns": lambda table, odd: table.find("id", ["a"], columns=odd),
    "count": lambda table, odd: table.count(odd),
    "has branch": lambda table, odd: table.has_branch(odd),
    "stage append": lambda table, odd: table.stage_append(odd),
    "stage overwrite": lambda table, odd: table.stage_overwrite(odd),
    "stage upsert": lambda table, odd: table.stage_upsert(odd, "id"),
    "key": lambda table, odd: table.stage_upsert(rows("a"), odd),
    "stage delete": lambda table, odd: table.stage_delete(odd),
    "delete keys": lambda table, odd: table.stage_delete_keys(odd, ["a"]),
    "keys to delete": lambda table, odd: table.stage_delete_keys("id", odd),
    "stage written": lambda table, odd: table.stage_written(odd),
    "stage together": lambda table, odd: table.stage_together(odd),
    "write": lambda table, odd: table.write_target.write(odd),
    "commit": lambda table, odd: table.commit(odd),
    "properties": lambda table, odd: table.commit(table.stage_append(rows("y")), properties=odd),
    "merge": lambda table, odd: table.cas_merge(odd, key="id", write_id="w"),
    "merge key": lambda table, odd: table.cas_merge(rows("z"), key=odd, write_id="w"),
    "restore properties": lambda table, odd: table.restore(2, properties=odd),
    "add columns": lambda table, odd: table.add_columns(odd),
    "drop columns": lambda table, odd: table.drop_columns(odd),
    "annotate": lambda table, odd: table.annotate(schema_metadata=odd),
    "annotate columns": lambda table, odd: table.annotate(field_metadata=odd),
    "replace schema": lambda table, odd: table.replace_schema(odd),
    "fork": lambda table, odd: table.fork(odd),
    "delete branch": lambda table, odd: table.delete_branch(odd),
    "tag": lambda table, odd: table.tag(odd),
    "delete tag": lambda table, odd: table.delete_tag(odd),
    "compact": lambda table, odd: table.compact(target_rows=odd),
    "index": lambda table, odd: table.create_index(odd),
    "index name": lambda table, odd: table.create_index("age", name=odd),
    "extend index": lambda table, odd: table.extend_index(odd),
    "drop index": lambda table, odd: table.drop_index(odd),
}

REFS: dict[str, Callable[[JsonRefs, Any], object]] = {
    "get": lambda refs, odd: refs.get(odd),
    "create": lambda refs, odd: refs.create(odd, {}),
    "value": lambda refs, odd: refs.create("v", odd),
    "write id": lambda refs, odd: refs.create("w", {}, write_id=odd),
    "replace": lambda refs, odd: refs.replace(odd, {}),
    "delete": lambda refs, odd: refs.delete(odd),
    "list": lambda refs, odd: refs.list(odd),
    "wrote": lambda refs, odd: refs.wrote(odd, "w"),
    "table path": lambda refs, odd: table_path(odd),
    "hash": lambda refs, odd: type_hash(odd),
    "unique": lambda refs, odd: unique(odd),
    "below": lambda refs, odd: Location.parse("/tmp") / odd,
    "options": lambda refs, odd: Storage.resolve("s3://bucket/x", odd),
    "object": lambda refs, odd: read_object(Storage.resolve("/tmp"), odd),
}


def only_ours(call: Callable[[Any], object]) -> None:
    """Call it with everything; each error must be ours, and be printed and sent like any other."""
    for odd in ODD:
        caught: L1Error | None = None
        try:
            call(odd)
        except L1Error as error:
            caught = error
        assert str(pickle.loads(pickle.dumps(caught))) == str(caught)
        str(caught).encode()


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_a_table(local: Table, name: str) -> None:
    """No raw error, and the table opens and is read afterwards."""
    table = local.append(rows("a", "b")).table
    only_ours(lambda odd: CALLS[name](table, odd))
    assert ids(table.read()) == ["a", "b"]
    found = Table.open(local.location)
    assert found.read().num_rows == found.count()


@pytest.mark.parametrize("name", REFS)
def test_calls_of_refs_and_names(tmp_path: Path, name: str) -> None:
    """No raw error."""
    refs = JsonRefs.open(tmp_path, durability="none")
    only_ours(lambda odd: REFS[name](refs, odd))


def test_columns_that_lance_could_not_read(local: Table, tmp_path: Path) -> None:
    """It would take the name, and every later look at the table would fail."""
    table = local.append(rows("a")).table
    bad = pa.field("a`b", pa.string())
    for attempt in (
        lambda: Table.create(tmp_path / "other", pa.schema([bad])),
        lambda: table.add_columns([bad]),
        lambda: table.replace_schema(pa.schema([bad])),
    ):
        with pytest.raises(InvalidRequest, match="quote"):
            attempt()
    assert table.refresh() is table
    assert not (tmp_path / "other").exists()


def test_a_config_that_is_none_leaves_no_dataset(tmp_path: Path) -> None:
    """It is looked at before anything is written."""
    with pytest.raises(InvalidRequest, match="config"):
        Table.create(tmp_path / "t", SCHEMA, config={"a": 1})  # type: ignore[dict-item]
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("name", ["..", "", "../..", "main", "a//b", "\ud800"])
def test_names_of_branches_to_be_deleted(local: Table, name: str) -> None:
    """Names that no branch has are refused by us, before Lance makes a path of them."""
    with pytest.raises(InvalidName):
        local.delete_branch(name)
