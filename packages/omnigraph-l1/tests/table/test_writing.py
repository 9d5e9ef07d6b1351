"""What each way of writing does to the rows, on local disk and on S3."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import Storage, Table
from omnigraph_l1.errors import InvalidRequest


def test_a_new_table_is_empty_and_keeps_its_annotations(table: Table) -> None:
    """Schema, field annotations and metadata are what was given; storage is ours."""
    assert table.count() == 0
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert table.dataset.data_storage_version == "2.2"
    assert table.dataset.has_stable_row_ids


def test_append_adds_rows_and_leaves_the_handle_where_it_was(table: Table) -> None:
    """A commit gives a new handle; the old one reads what it always read."""
    commit = table.append(rows("a", "b"))
    assert ids(commit.table.read()) == ["a", "b"]
    assert table.count() == 0
    assert commit.version == table.version + 1
    assert commit.changed
    assert commit.follows_base


def test_upsert_replaces_and_inserts(table: Table) -> None:
    """Rows of the same key are replaced, others are added, none is there twice."""
    table = table.append(rows("a", "b", age=1)).table
    staged = table.stage_upsert(rows("b", "c", age=2), "id")
    assert (staged.rows_updated, staged.rows_inserted) == (1, 1)
    done = table.commit(staged).table
    assert done.read(filter="age = 2")["id"].to_pylist() == ["b", "c"]
    assert ids(done.read()) == ["a", "b", "c"]


def test_upsert_keeps_columns_that_the_data_lacks(table: Table) -> None:
    """A nullable column that is not given keeps its values, and is null in new rows."""
    table = table.append(rows("a", city="Rome")).table
    partial = pa.table({"id": ["a", "b"], "age": pa.array([9, 9], pa.int32())})
    partial = partial.cast(pa.schema([SCHEMA.field("id"), SCHEMA.field("age")]))
    done = table.upsert(partial, "id").table
    by_id = {row["id"]: row for row in done.read().to_pylist()}
    assert by_id["a"] == {"id": "a", "age": 9, "city": "Rome"}
    assert by_id["b"] == {"id": "b", "age": 9, "city": None}


def test_delete_by_predicate_and_by_key(table: Table) -> None:
    """Exactly the matching rows go; keys that are not there are passed over."""
    table = table.append(rows("a", "b", "it's")).table
    table = table.append(rows("c", age=5)).table
    table = table.delete("age = 5").table
    assert ids(table.read()) == ["a", "b", "it's"]
    table = table.delete_keys("id", ["it's", "nobody"]).table
    assert ids(table.read()) == ["a", "b"]


def test_delete_of_many_keys_is_the_same_as_of_few(local: Table) -> None:
    """Beyond what fits one filter the keys are looked for otherwise, with the same result."""
    local = local.append(rows(*(f"p{n}" for n in range(6000)))).table
    done = local.delete_keys("id", [f"p{n}" for n in range(5000)]).table
    assert ids(done.read()) == sorted(f"p{n}" for n in range(5000, 6000))


def test_deleting_everything_leaves_an_empty_table(table: Table) -> None:
    """Fragments without rows go away, and the table can be written again."""
    table = table.append(rows("a")).table.append(rows("b")).table
    table = table.delete("true").table
    assert table.count() == 0
    assert table.dataset.get_fragments() == []
    assert ids(table.append(rows("c")).table.read()) == ["c"]


def test_overwrite_replaces_all_rows_and_nothing_else(table: Table) -> None:
    """Annotations, metadata and row ids stay good; an empty overwrite empties the table."""
    table = table.append(rows("a", "b")).table
    commit = table.overwrite(rows("x"))
    assert ids(commit.table.read()) == ["x"]
    assert commit.table.schema.equals(SCHEMA, check_metadata=True)
    assert commit.table.dataset.has_stable_row_ids
    after = commit.table.upsert(rows("x", "y"), "id").table
    assert ids(after.read()) == ["x", "y"]
    assert after.overwrite(rows()).table.count() == 0


def test_a_change_of_no_rows_is_no_commit(table: Table) -> None:
    """Nothing to append, delete or upsert: the version stays."""
    table = table.append(rows("a")).table
    for commit in (
        table.append(rows()),
        table.upsert(rows(), "id"),
        table.delete("id = 'nobody'"),
        table.delete_keys("id", []),
    ):
        assert not commit.changed
        assert commit.version == table.version
    assert table.refresh() is table


def test_streams_are_written_as_they_come(table: Table) -> None:
    """A reader is consumed batch by batch, and its columns may come in any order."""

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(5):
            yield rows(f"n{number}").select(["city", "id", "age"]).to_batches()[0]

    schema = pa.schema([SCHEMA.field(name) for name in ("city", "id", "age")])
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    assert ids(table.append(reader).table.read()) == [f"n{number}" for number in range(5)]


def test_an_error_of_the_data_comes_out_as_it_was(table: Table) -> None:
    """What a user's own reader raises is not dressed up as a failure of the store."""

    class Broken(Exception):
        pass

    def batches() -> Iterator[pa.RecordBatch]:
        yield rows("a").to_batches()[0]
        raise Broken

    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
    with pytest.raises(Broken):
        table.append(reader)
    assert table.refresh() is table


def test_slices_of_nested_structs_are_written(storage: Storage) -> None:
    """Lance panics at such a slice; a table takes it like any other data."""
    nested = pa.struct([("a", pa.struct([("b", pa.int32())]))])
    schema = pa.schema([pa.field("x", nested), pa.field("y", pa.list_(nested))])
    values = [{"a": {"b": 1}}, {"a": None}, None]
    data = pa.table({"x": values, "y": [values, [], None]}, schema=schema)
    table = Table.create(storage, schema).append(data.slice(1)).table
    assert table.read().to_pylist() == data.slice(1).to_pylist()


def test_fragments_written_elsewhere_are_appended_in_one_commit(table: Table) -> None:
    """A target travels by pickle, what it wrote travels back, and one commit shows all."""
    parts = [
        pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(table.write_target)).write(rows(name))))
        for name in ("a", "b", "c")
    ]
    assert [part.rows for part in parts] == [1, 1, 1]
    commit = table.commit(table.stage_written(parts))
    assert commit.version == table.version + 1
    assert ids(commit.table.read()) == ["a", "b", "c"]


def test_fragments_for_another_lineage_are_refused(table: Table) -> None:
    """Lance would accept them, and never read them again."""
    table = table.append(rows("a")).table
    elsewhere = table.write_target.write(rows("b"))
    branch = table.fork("side.1")
    with pytest.raises(InvalidRequest, match="cannot be read"):
        branch.stage_written([elsewhere])
    staged = table.stage_append(rows("c"))
    with pytest.raises(InvalidRequest, match="not here"):
        branch.commit(staged)


def test_fragments_for_another_table_are_refused(table: Table, tmp_path: Path) -> None:
    """The branch is the same, the location is not: the files are elsewhere."""
    elsewhere = Table.create(tmp_path / "other", SCHEMA).write_target.write(rows("b"))
    here = table.write_target.write(rows("a"))
    for parts in ([elsewhere], [here, elsewhere]):
        with pytest.raises(InvalidRequest, match="cannot be read") as caught:
            table.stage_written(parts)
        assert elsewhere.location in str(caught.value)
    assert table.commit(table.stage_written([here])).table.count() == 1


def test_a_change_staged_for_another_table_is_refused(table: Table, tmp_path: Path) -> None:
    """Its files are elsewhere: they would be accepted, and never be read."""
    staged = Table.create(tmp_path / "other", SCHEMA).stage_append(rows("a"))
    with pytest.raises(InvalidRequest, match="not here"):
        table.commit(staged)


def test_keys_of_other_types_are_found_and_deleted(storage: Storage) -> None:
    """Dates, negative numbers and fractions have no literal that means them."""
    schema = pa.schema([("day", pa.date32()), ("n", pa.int64()), ("f", pa.float64())])
    day = date(2020, 2, 29)
    data = pa.table({"day": [day, None], "n": [-5, 7], "f": [1.5, -0.5]}, schema=schema)
    table = Table.create(storage, schema).append(data).table
    for key, value in (("day", day), ("n", -5), ("f", 1.5)):
        assert table.find(key, [value], columns=["n"]).to_pylist() == [{"n": -5}]
        assert table.delete_keys(key, [value]).table.read(columns=["n"]).to_pylist() == [{"n": 7}]
        table = table.refresh().restore(2).table


def test_properties_and_id_of_a_commit_are_found_again(table: Table) -> None:
    """Who committed can be read from Lance's own record."""
    staged = table.stage_append(rows("a"))
    commit = table.commit(staged, properties={"actor": "ann"})
    record = commit.table.dataset.read_transaction(commit.version)
    assert record.uuid == commit.transaction_id
    assert record.transaction_properties["actor"] == "ann"


def test_a_table_handle_travels_to_another_process(table: Table) -> None:
    """Pickled, it opens the same version again, whatever was committed since."""
    pinned = table.append(rows("a")).table
    pinned.append(rows("b"))
    again = pickle.loads(pickle.dumps(pinned))
    assert again.version == pinned.version
    assert ids(again.read()) == ["a"]


def test_delta_tells_what_changed(table: Table) -> None:
    """Inserted and updated rows, and the ids of deleted ones, since an older version."""
    start = table.append(rows("a", "b", "c")).table
    end = start.upsert(rows("b", "d", age=2), "id").table.delete("id = 'c'").table
    delta = end.delta(start.version)
    gone = start.read(with_row_id=True, filter="id = 'c'")["_rowid"].to_pylist()
    assert ids(delta.inserted().read_all()) == ["d"]
    assert ids(delta.updated().read_all()) == ["b"]
    assert delta.deleted_row_ids().read_all()["_rowid"].to_pylist() == gone


def test_finding_by_key_gives_just_those_rows(table: Table) -> None:
    """With or without an index, and for values that look like filters."""
    table = table.append(rows("a", "it's", "' OR true --")).table
    wanted = ["it's", "' OR true --", "nobody"]
    assert ids(table.find("id", wanted)) == sorted(wanted[:2])
    assert ids(table.create_index("id").table.find("id", wanted)) == sorted(wanted[:2])
    assert table.find("id", [], columns=["age"]).schema.names == ["age"]


def test_what_another_wrote_is_not_committed_twice_at_once(local: Table) -> None:
    """A message that came twice does not double its rows."""
    written = local.write(rows("a"))
    for replace_all in (False, True):
        with pytest.raises(InvalidRequest, match="twice"):
            local.stage_written([written, written], replace_all=replace_all)


@pytest.mark.parametrize("type_", [pa.decimal128(8, 1), pa.list_(pa.decimal128(8, 1))])
def test_decimals_that_lie_askew_in_memory(tmp_path: Path, type_: pa.DataType) -> None:
    """Data that comes from Java is aligned to 8 bytes only: Lance panics at decimals then."""
    plain = pa.array([Decimal("1.5"), None, Decimal("-2.5")], pa.decimal128(8, 1))
    nulls, values = plain.buffers()
    room = memoryview(bytearray(values.size + 16))
    start = (8 - pa.py_buffer(room).address) % 16
    room[start : start + values.size] = values.to_pybytes()
    askew = pa.py_buffer(room).slice(start, values.size)
    assert askew.address % 16
    column = pa.Array.from_buffers(plain.type, len(plain), [nulls, askew])
    if pa.types.is_list(type_):
        column = pa.ListArray.from_arrays([0, 1, 3], column)
    rows_ = pa.table({"x": column}, schema=pa.schema([("x", type_)]))
    made = Table.create(tmp_path / "t", rows_.schema, durability="none")
    assert made.append(rows_).table.read().equals(rows_)
