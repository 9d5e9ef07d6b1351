"""What Lance gives back: every type that the strategies draw, and what happens to the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_testing.strategies import schemas, tables, values

SOME = settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
FORMAT = {"data_storage_version": "2.2", "enable_stable_row_ids": True}


def rows(table: pa.Table) -> list[str]:
    """Write rows so that nan equals nan and -0.0 does not equal 0.0."""
    return sorted(map(repr, table.to_pylist()))


@SOME
@given(st.data())
def test_rows_survive_writing_upserting_and_compacting(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any table of any schema comes back as it was: read, upserted over, and compacted."""
    schema = data.draw(schemas(data.draw(st.sampled_from(["node", "edge"])), max_properties=3))
    before, upserts = data.draw(tables(schema)), data.draw(tables(schema))
    uri = str(tmp_path_factory.mktemp("trip") / "t")
    dataset = lance.write_dataset(before, uri, schema=schema, **FORMAT)
    assert dataset.schema.equals(schema)
    assert rows(dataset.to_table()) == rows(before)
    expected = {row["id"]: row for row in before.to_pylist() + upserts.to_pylist()}
    if upserts.num_rows:
        upsert = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        upsert.use_index(False).execute(upserts)
    assert rows(lance.dataset(uri).to_table()) == sorted(map(repr, expected.values()))
    lance.dataset(uri).optimize.compact_files()
    assert rows(lance.dataset(uri).to_table()) == sorted(map(repr, expected.values()))


WHOLE_RANGE = [
    pa.date32(),
    pa.time64("ns"),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
]


@pytest.mark.parametrize("type_", WHOLE_RANGE, ids=str)
def test_times_beyond_python_survive(tmp_path: Path, type_: Any) -> None:
    """Dates and times that Python cannot name are kept to the last bit."""
    as_number = pa.int32() if type_.bit_width == 32 else pa.int64()

    @settings(SOME, max_examples=1)
    @given(st.lists(values(type_, beyond_python=True), min_size=30, max_size=30))
    def trip(cells: list[int | None]) -> None:
        table = pa.table([pa.array(cells, type_)], names=["x"])
        dataset = lance.write_dataset(table, str(tmp_path / "t"), mode="overwrite", **FORMAT)
        found = dataset.to_table()["x"].combine_chunks()
        assert found.type == type_
        assert found.view(as_number).to_pylist() == cells

    trip()


STRUCT = pa.struct([("a", pa.int8())])
REFUSED = {
    "decimal32": (pa.decimal32(9, 2), "Unsupported data type: Decimal32"),
    "decimal64": (pa.decimal64(18, 2), "Unsupported data type: Decimal64"),
    "list view": (pa.list_view(pa.int8()), "Unsupported data type: ListView"),
    "interval": (pa.month_day_nano_interval(), "Unsupported data type: Interval"),
    "struct of nothing": (pa.struct([]), "Empty structs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_types_that_lance_refuses(tmp_path: Path, name: str) -> None:
    """These are left out of the strategies because Lance refuses them, and says so."""
    type_, words = REFUSED[name]
    column = pa.array([None, {}] if type_ == pa.struct([]) else [None], type_)
    with pytest.raises(OSError, match=words):
        lance.write_dataset(pa.table({"x": column}), str(tmp_path / "t"), **FORMAT)


@pytest.mark.parametrize("type_", [pa.string_view(), pa.binary_view()], ids=str)
def test_views_come_back_as_plain_types(tmp_path: Path, type_: Any) -> None:
    """Views are left out because what comes back is of another type."""
    dataset = lance.write_dataset(
        pa.table({"x": pa.nulls(2, type_)}), str(tmp_path / "t"), **FORMAT
    )
    assert dataset.schema.field("x").type in (pa.string(), pa.binary())


def panics(write: Any) -> bool:
    """Say whether Lance's Rust code panics: that is no ``Exception``."""
    try:
        write()
    except BaseException as error:  # noqa: BLE001
        return type(error).__name__ == "PanicException"
    return False


def test_lance_panics_on_vectors_of_texts(tmp_path: Path) -> None:
    """Fixed-size lists of anything but numbers are left out: writing texts panics."""
    column = pa.array([None, ["a", "b"]], pa.list_(pa.string(), 2))
    assert panics(lambda: lance.write_dataset(pa.table({"x": column}), str(tmp_path), **FORMAT))


def test_lance_cannot_read_vectors_of_structs(tmp_path: Path) -> None:
    """A fixed-size list of structs is written, and can then not be read beside another column."""
    column = pa.array([[{"a": 1}, {"a": 2}]], pa.list_(STRUCT, 2))
    table = pa.table({"id": ["a"], "x": column})
    dataset = lance.write_dataset(table, str(tmp_path / "t"), **FORMAT)
    with pytest.raises(pa.ArrowInvalid, match="differing lengths"):
        dataset.to_table()


def test_lance_panics_on_a_slice_of_a_struct_in_a_struct(tmp_path: Path) -> None:
    """A struct directly in a struct is left out: with a null inside, a slice of it panics. Copied,
    so that it is no slice any more, it is written.
    """
    type_ = pa.struct([("a", STRUCT)])
    column = pa.array([{"a": {"a": 1}}, {"a": None}], type_)
    sliced = pa.table({"x": column.slice(1)})
    assert panics(lambda: lance.write_dataset(sliced, str(tmp_path / "s"), **FORMAT))
    copied = pa.table({"x": column.take(pa.array([1]))})
    found = lance.write_dataset(copied, str(tmp_path / "t"), **FORMAT).to_table()
    assert found.to_pylist() == [{"x": {"a": None}}]
