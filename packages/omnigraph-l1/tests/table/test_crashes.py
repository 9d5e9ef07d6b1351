"""Processes killed in the middle of everything: readers go on, the next writer needs no help."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import Table, failpoints, migrate_version_names
from omnigraph_l1.errors import AlreadyExists
from omnigraph_testing import Crash, Crashed

pytestmark = pytest.mark.integration


def fill(place: Path) -> list[str]:
    """A table with rows in two fragments, to be worked on."""
    table = Table.create(place / "t", SCHEMA, durability="none")
    table.append(rows("a", "b")).table.append(rows("c", "d"))
    return [str(place / "t")]


def append(place: str) -> None:
    """Add a row."""
    Table.open(place).append(rows("new"))


def upsert(place: str) -> None:
    """Change a row and add one."""
    Table.open(place).upsert(rows("a", "new", age=2), "id")


def change(place: str) -> None:
    """Change one row and add one, as many writers do."""
    table = Table.open(place)
    row = table.read(columns=["_rowid", "_rowaddr"], filter="id = 'a'").to_pydict()
    part = table.write_changes(
        updated=rows("a", age=2),
        row_ids=row["_rowid"],
        inserted=rows("new"),
        addresses=row["_rowaddr"],
    )
    table.commit(table.stage_changed([part], key="id"))


def delete(place: str) -> None:
    """Take a row away."""
    Table.open(place).delete("id = 'd'")


def overwrite(place: str) -> None:
    """Replace all rows."""
    Table.open(place).overwrite(rows("x", "y"))


def merge(place: str) -> None:
    """The one-step merge."""
    Table.open(place).merge_exclusively(rows("new"), key="id", write_id="w")


def restore(place: str) -> None:
    """Back to the first rows."""
    Table.open(place).restore(2)


def compact(place: str) -> None:
    """Merge the fragments."""
    Table.open(place).compact()


def index(place: str) -> None:
    """Build an index."""
    Table.open(place).create_index("id")


def add_column(place: str) -> None:
    """A column that is null."""
    Table.open(place).add_columns([pa.field("nick", pa.string())])


def drop_column(place: str) -> None:
    """One column less."""
    Table.open(place).drop_columns(["city"])


def annotate(place: str) -> None:
    """A stamp on the schema, and a word on a column."""
    Table.open(place).annotate(schema_metadata={"a": "1"}, field_metadata={"age": {"b": "2"}})


def replace_schema(place: str) -> None:
    """An empty table with other columns."""
    Table.open(place).replace_schema(SCHEMA.remove(1))


def fork(place: str) -> None:
    """Start a branch."""
    Table.open(place).fork("side.1")


WORK = {
    append: "a b c d new",
    upsert: "a b c d new",
    change: "a b c d new",
    delete: "a b c",
    overwrite: "x y",
    merge: "a b c d new",
    restore: "a b",
    compact: "a b c d",
    index: "a b c d",
    add_column: "a b c d",
    drop_column: "a b c d",
    annotate: "a b c d",
    replace_schema: "",
    fork: "a b c d",
}


def check(crashed: Crashed, after: str) -> None:
    """Before or after, nothing between; and the next writer works."""
    table = Table.open(crashed.arguments[0])
    assert " ".join(ids(table.read())) in {"a b c d", after}, str(crashed)
    columns = [pa.nulls(1, field.type) for field in table.schema]
    new = pa.Table.from_arrays(columns, schema=table.schema)
    commit = table.append(new.set_column(0, table.schema.field("id"), [["next"]]))
    assert commit.follows_base, str(crashed)
    assert "next" in ids(commit.table.read())


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_killed_at_each_named_point(crash: Crash, work: object) -> None:
    """SIGKILL between any two steps that have a name."""
    killed = 0
    for crashed in crash.everywhere(work, prepare=fill):  # type: ignore[arg-type]
        assert crashed.outcome.killed
        check(crashed, WORK[work])  # type: ignore[index]
        killed += 1
    assert killed > 0


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_killed_at_file_operations(crash: Crash, work: object) -> None:
    """SIGKILL before a file operation, also those of Lance itself, which have no name."""
    sample = crash.everywhere(work, prepare=fill, by="file operations", limit=6, seed=7)  # type: ignore[arg-type]
    for crashed in sample:
        check(crashed, WORK[work])  # type: ignore[index]


def create(place: str) -> None:
    """Make a table."""
    Table.create(Path(place) / "t", SCHEMA)


def test_a_creation_cut_short_is_finished_by_trying_again(crash: Crash) -> None:
    """Wherever it died, creating it again gives a table, or finds the one that is there."""
    for crashed in crash.everywhere(create, by="file operations", limit=12):
        place = crashed.place / "t"
        try:
            table = Table.create(place, SCHEMA)
        except AlreadyExists:
            table = Table.open(place)
        assert ids(table.append(rows("a")).table.read()) == ["a"]


def fill_old(place: Path) -> list[str]:
    """A table of three versions whose files have names of the old kind."""
    made = lance.write_dataset(rows("a"), place / "t", enable_v2_manifest_paths=False)
    for name in "bc":
        made = lance.write_dataset(rows(name), made, mode="append")
    return [str(place / "t")]


def rename(place: str) -> None:
    """Give the files new names."""
    migrate_version_names(place)


def test_a_migration_of_names_that_was_killed_goes_on(crash: Crash) -> None:
    """Between any two steps: called again it ends, with every version there."""
    killed = 0
    for crashed in crash.everywhere(rename, prepare=fill_old):
        assert crashed.outcome.killed
        place = crashed.arguments[0]
        migrate_version_names(place)
        table = Table.open(place)
        assert [table.at(number).count() for number in table.versions()] == [1, 2, 3]
        names = [path.name for path in Path(place, "_versions").glob("*.manifest")]
        assert len(names) == 3, str(crashed)
        killed += 1
    assert killed > 0


def test_every_declared_point_of_the_table_is_passed(crash: Crash) -> None:
    """A point that no work here passes would never be killed at."""
    passed: set[str] = set()
    for work in WORK:
        (place,) = fill(crash.directory / f"points-{work.__name__}")
        passed |= set(crash.points(work, place))
    (old,) = fill_old(crash.directory / "points-rename")
    passed |= set(crash.points(rename, old))
    declared = {name for name in failpoints.declared() if not name.startswith("l1.refs")}
    assert passed >= {name for name in declared if name.startswith("l1.")}
