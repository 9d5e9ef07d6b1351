"""Columns added and dropped, annotations, another schema: one commit each, no data rewritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows
from reshapes import KEY, NICK, OPERATIONS, PLAIN, STRUCT

from omnigraph_l1 import PRIMARY_KEY, Storage, Table
from omnigraph_l1.errors import CommitConflict, InvalidRequest, L1Error


def written_since(table: Table, before: set[Path]) -> list[Path]:
    """The files of the table that were not there before, relative to it."""
    root = table.location.local_path
    return sorted(path.relative_to(root) for path in files(table) - before)


def files(table: Table) -> set[Path]:
    """All files of a table on local disk."""
    return {path for path in table.location.local_path.rglob("*") if path.is_file()}


def test_added_columns_are_null_and_can_be_written(base: Table) -> None:
    """Types and annotations are those given, nested ones too; the other columns keep their rows."""
    commit = base.add_columns([NICK, pa.field("home", STRUCT)])
    table = commit.table
    assert commit.changed
    assert commit.follows_base
    assert commit.version == base.version + 1
    assert table.schema.field("nick").equals(NICK, check_metadata=True)
    assert table.schema.field("home").type == STRUCT
    assert table.schema.metadata == SCHEMA.metadata
    assert table.read(columns=["nick", "home"]).to_pylist() == [{"nick": None, "home": None}] * 3
    assert table.read(columns=SCHEMA.names).equals(base.read())
    home = {"street": "S", "where": {"x": 0.5}}
    row = {"id": ["d"], "age": [1], "city": ["Oslo"], "nick": ["dd"], "home": [home]}
    table = table.append(pa.table(row, schema=table.schema)).table
    assert table.read(filter="nick = 'dd'").to_pylist() == [{k: v[0] for k, v in row.items()}]
    changed = pa.table({**row, "nick": ["ee"]}, schema=table.schema)
    assert table.upsert(changed, "id").table.count("nick = 'ee'") == 1


def test_a_dropped_column_is_gone_and_its_name_is_free(base: Table) -> None:
    """The column that is added under the name again is another: null, of another type."""
    commit = base.drop_columns(["age"])
    assert commit.follows_base
    assert commit.table.schema.names == ["id", "city"]
    assert commit.table.read().equals(base.read(columns=["id", "city"]))
    again = commit.table.add_columns([pa.field("age", pa.string())]).table
    assert again.read(columns=["age"])["age"].to_pylist() == [None] * 3
    assert again.compact().table.read(columns=["age"])["age"].to_pylist() == [None] * 3
    assert base.refresh().at(base.version).read().equals(base.read())


def test_a_dropped_last_column_does_not_come_back(base: Table) -> None:
    """A new column never gets the number under which data files still hold an old one."""
    table = base.drop_columns(["city"]).table.add_columns([pa.field("country", pa.string())]).table
    assert table.read(columns=["country"])["country"].to_pylist() == [None] * 3


def test_columns_come_and_go_many_times(local: Table) -> None:
    """Beyond what one byte can number, with nested columns, the values stay where they belong."""
    table = local.append(rows("a", age=7)).table
    for number in range(45):
        table = table.add_columns([pa.field(f"s{number}", STRUCT)]).table
        home = {"street": f"{number}", "where": {"x": float(number)}}
        row = pa.table(
            {"id": ["a"], "age": [7], "city": ["Oslo"], f"s{number}": [home]}, schema=table.schema
        )
        table = table.upsert(row, "id").table
        assert table.read().to_pylist() == row.to_pylist()
        table = table.drop_columns([f"s{number}"]).table
    assert table.read().to_pylist() == rows("a", age=7).to_pylist()


def test_after_a_drop_everything_else_still_works(base: Table) -> None:
    """Overwrite, delete, compaction and a branch know the columns by their numbers."""
    table = base.drop_columns(["age"]).table.add_columns([NICK]).table
    new = pa.table({"id": ["x"], "city": ["Rome"], "nick": ["n"]}, schema=table.schema)
    branch = table.fork("side.1").overwrite(new).table
    assert branch.read().to_pylist() == new.to_pylist()
    assert branch.drop_columns(["city"]).table.read().to_pylist() == [{"id": "x", "nick": "n"}]
    table = table.delete("id = 'a'").table.append(new).table.compact().table
    assert ids(table.read()) == ["b", "c", "x"]
    assert table.read(filter="nick = 'n'").to_pylist() == new.to_pylist()


@pytest.mark.parametrize("name", OPERATIONS)
def test_on_a_branch_whose_rows_lie_in_the_tree_of_main(base: Table, name: str) -> None:
    """The files that a version names need not be below its own branch."""
    branch = base.fork("side.1")
    commit = OPERATIONS[name](branch)
    assert commit.follows_base
    assert ids(commit.table.read()) == ([] if name == "replace" else ["a", "b", "c"])
    assert base.refresh() is base


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_data_is_rewritten(local: Table, name: str) -> None:
    """Only a version and its record come into being, small whatever the table holds."""
    many = rows(*(f"person number {n}" for n in range(20_000)))
    table = local.append(many).table
    before, size = files(table), sum(p.stat().st_size for p in files(table))
    assert size > 100_000
    OPERATIONS[name](table)
    written = written_since(table, before)
    assert {path.parts[0] for path in written} == {"_versions", "_transactions"}
    assert sum((table.location.local_path / path).stat().st_size for path in written) < 5_000


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_is_one_commit_with_an_id(base: Table, name: str) -> None:
    """One version, whose record carries the id that the commit tells."""
    commit = OPERATIONS[name](base)
    assert (commit.version, commit.follows_base) == (base.version + 1, True)
    record = commit.table.dataset.read_transaction(commit.version)
    assert record.uuid == commit.transaction_id


def test_nothing_to_do_is_no_commit(base: Table) -> None:
    """No columns, no annotations: the version stays."""
    for commit in (
        base.add_columns([]),
        base.drop_columns([]),
        base.annotate(),
        base.annotate(schema_metadata={}, field_metadata={"age": {}}),
    ):
        assert not commit.changed
        assert commit.version == base.version
    assert base.refresh() is base


BAD: dict[str, tuple[Callable[[Table], object], str]] = {
    "add what is there": (lambda t: t.add_columns([SCHEMA.field("age")]), "'age' already"),
    "add twice": (lambda t: t.add_columns([NICK, NICK]), "'nick' already"),
    "add not null": (
        lambda t: t.add_columns([pa.field("n", pa.int8(), nullable=False)]),
        "must be nullable",
    ),
    "add a key": (
        lambda t: t.add_columns([pa.field("n", pa.int8(), metadata={KEY: "true"})]),
        "cannot be their key",
    ),
    "add a name of Lance's own": (
        lambda t: t.add_columns([pa.field("_rowid", pa.int64())]),
        "called '_rowid'",
    ),
    "add no name": (lambda t: t.add_columns([pa.field("", pa.int64())]), "called ''"),
    "add a path": (lambda t: t.add_columns([pa.field("a.b", pa.int64())]), "a.b"),
    "add a type that Lance has not": (
        lambda t: t.add_columns([pa.field("u", pa.dense_union([pa.field("q", pa.int8())]))]),
        "Unsupported data type",
    ),
    "drop what is not there": (lambda t: t.drop_columns(["size"]), "no column 'size'"),
    "drop the key": (lambda t: t.drop_columns(["id"]), "annotated key"),
    "drop all": (lambda t: t.drop_columns(["id", "age", "city"]), "at least one column"),
    "annotate what is not there": (
        lambda t: t.annotate(field_metadata={"size": {"doc": "x"}}),
        "no column 'size'",
    ),
    "annotate with numbers": (
        lambda t: t.annotate(schema_metadata={"stamp": 2}),  # type: ignore[dict-item]
        "not {'stamp': 2}",
    ),
    "set the key twice": (
        lambda t: t.annotate(field_metadata={"id": {KEY: "true"}}),
        "can be set only once",
    ),
    "replace by nothing": (lambda t: t.replace_schema(pa.schema([])), "at least one column"),
    "replace with a name twice": (
        lambda t: t.replace_schema(pa.schema([NICK, NICK])),
        "'nick' already",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_with_the_reason(base: Table, case: str) -> None:
    """A typed error that says why, before anything is written."""
    act, reason = BAD[case]
    with pytest.raises(InvalidRequest, match=reason):
        act(base)
    assert base.refresh() is base


def test_the_key_is_annotated_once(storage: Storage) -> None:
    """Set later, it makes merges exclusive; the value is 'true', and the column is not nullable."""
    table = Table.create(storage, PLAIN).append(pa.table({"id": ["a"], "n": [1]}, PLAIN)).table
    with pytest.raises(InvalidRequest, match="not 'yes'"):
        table.annotate(field_metadata={"id": {KEY: "yes"}})
    with pytest.raises(InvalidRequest, match="'n' is nullable"):
        table.annotate(field_metadata={"n": {KEY: "true"}})
    commit = table.annotate(schema_metadata={"stamp": "2"}, field_metadata={"id": {KEY: "true"}})
    assert commit.version == table.version + 1
    assert commit.table.schema.field("id").metadata == {PRIMARY_KEY: b"true"}
    assert commit.table.schema.metadata == {b"stamp": b"2"}
    data = pa.table({"id": ["key"], "n": [1]}, commit.table.schema)
    commit.table.cas_merge(data, key="id", write_id="first")
    with pytest.raises(CommitConflict):
        commit.table.cas_merge(data, key="id", write_id="second")


def test_annotations_are_merged_and_stay(base: Table) -> None:
    """What was there stays beside what is new; an annotation that is set again is replaced."""
    table = base.annotate(field_metadata={"age": {"unit": "years"}}).table
    table = table.annotate(schema_metadata={"a": "1"}, field_metadata={"age": {"doc": "x"}}).table
    table = table.annotate(schema_metadata={"a": "2"}).table
    assert table.schema.metadata == {**(SCHEMA.metadata or {}), b"a": b"2"}
    assert table.schema.field("age").metadata == {b"unit": b"years", b"doc": b"x"}
    later: list[Callable[[Table], Table]] = [
        lambda t: t.append(rows("z")).table,
        lambda t: t.overwrite(rows("z")).table,
        lambda t: t.compact().table,
        lambda t: t.restore(base.version).table.restore(t.version).table,
        lambda t: t.add_columns([NICK]).table.drop_columns(["city"]).table,
        lambda t: t.fork("side.1"),
    ]
    for step in later:
        after = step(table)
        assert after.schema.metadata == table.schema.metadata
        assert after.schema.field("age").metadata == table.schema.field("age").metadata
        table = table.restore(table.version).table


def test_a_replaced_schema_starts_empty(storage: Storage) -> None:
    """Config and row ids go on; rows, annotations and indexes are what the new schema says."""
    table = Table.create(storage, SCHEMA, config={"ours": "1"}).append(rows("a", "b")).table
    used = table.read(with_row_id=True)["_rowid"].to_pylist()
    table = table.create_index("id").table
    commit = table.replace_schema(PLAIN)
    new = commit.table
    assert commit.follows_base
    assert new.schema.equals(PLAIN, check_metadata=True)
    assert (new.count(), dict(new.config), new.indexes()) == (0, {"ours": "1"}, {})
    assert new.dataset.has_stable_row_ids
    assert new.dataset.data_storage_version == "2.2"
    filled = new.append(pa.table({"id": ["c"], "n": [3]}, PLAIN)).table
    assert filled.read().to_pylist() == [{"id": "c", "n": 3}]
    assert filled.read(with_row_id=True)["_rowid"].to_pylist()[0] not in used
    assert filled.find("id", ["c"]).num_rows == 1
    assert ids(filled.at(table.version).read()) == ["a", "b"]
    assert filled.restore(table.version).table.read().equals(table.read())


def test_the_index_over_a_dropped_column_goes_with_it(base: Table) -> None:
    """The others stay, and none answers for a column of the same name later."""
    table = base.create_index("id").table.create_index("age").table
    dropped = table.drop_columns(["age"]).table
    assert list(dropped.indexes()) == ["id_btree"]
    again = dropped.add_columns([SCHEMA.field("age")]).table
    assert again.find("age", [1]).num_rows == 0
    assert ids(again.find("id", ["a", "c"])) == ["a", "c"]
    assert list(table.indexes()) == ["age_btree", "id_btree"]


def test_config_is_what_the_version_says(storage: Storage) -> None:
    """It can be read and not written; an older version shows its own."""
    table = Table.create(storage, SCHEMA, config={"ours": "1"})
    other = lance.dataset(table.location.uri, storage_options=storage.lance_options)
    other.update_config({"lance.auto_cleanup.interval": "3"})
    newer = table.refresh()
    assert dict(table.config) == {"ours": "1"}
    assert newer.config["lance.auto_cleanup.interval"] == "3"
    with pytest.raises(TypeError):
        newer.config["ours"] = "2"  # type: ignore[index]


def test_a_branch_is_there_or_not(base: Table) -> None:
    """Names with other letters and parts too; a name that none can have is refused."""
    names = ["side.1", "team/what-if.2", "café.3"]
    assert not any(base.has_branch(name) for name in names)
    for name in names:
        base.fork(name)
    assert all(base.has_branch(name) for name in names)
    assert base.branch_names() == list(base.branches()) == sorted(names)
    assert not base.has_branch("team")
    base.delete_branch("side.1")
    assert not base.has_branch("side.1")
    with pytest.raises(L1Error, match="Invalid branch name"):
        base.has_branch("../side.1")
