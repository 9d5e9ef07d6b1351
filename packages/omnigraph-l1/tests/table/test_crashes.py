"""Processes killed in the middle of everything: readers go on, the next writer needs no help."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows
from sizes import commit_seed, sampled, sized

from campaign.traced_crash import TracedCrash
from omnigraph_l1 import Table, failpoints, migrate_version_names
from omnigraph_l1.errors import AlreadyExists
from omnigraph_testing import Crash, Crashed

pytestmark = pytest.mark.integration


def fill(location: Path) -> list[str]:
    """A table with rows in two fragments, to be worked on."""
    table = Table.create(location / "t", SCHEMA, durability="none")
    table.append(rows("a", "b")).table.append(rows("c", "d"))
    return [str(location / "t")]


def append(location: str) -> None:
    """Add a row."""
    Table.open(location).append(rows("new"))


def upsert(location: str) -> None:
    """Change a row and add one."""
    Table.open(location).upsert(rows("a", "new", age=2), "id")


def change(location: str) -> None:
    """Change one row and add one, as many writers do."""
    table = Table.open(location)
    row = table.read(columns=["_rowid", "_rowaddr"], filter="id = 'a'").to_pydict()
    part = table.write_changes(
        updated=rows("a", age=2),
        row_ids=row["_rowid"],
        inserted=rows("new"),
        addresses=row["_rowaddr"],
    )
    table.commit(table.stage_changed([part], key="id"))


def delete(location: str) -> None:
    """Take a row away."""
    Table.open(location).delete("id = 'd'")


def overwrite(location: str) -> None:
    """Replace all rows."""
    Table.open(location).overwrite(rows("x", "y"))


def merge(location: str) -> None:
    """The one-step merge."""
    Table.open(location).cas_merge(rows("new"), key="id", write_id="w")


def restore(location: str) -> None:
    """Back to the first rows."""
    Table.open(location).restore(2)


def compact(location: str) -> None:
    """Merge the fragments."""
    Table.open(location).compact()


def index(location: str) -> None:
    """Build an index."""
    Table.open(location).create_index("id")


def add_column(location: str) -> None:
    """A column that is null."""
    Table.open(location).add_columns([pa.field("nick", pa.string())])


def drop_column(location: str) -> None:
    """One column less."""
    Table.open(location).drop_columns(["city"])


def annotate(location: str) -> None:
    """A stamp on the schema, and a word on a column."""
    Table.open(location).annotate(schema_metadata={"a": "1"}, field_metadata={"age": {"b": "2"}})


def replace_schema(location: str) -> None:
    """An empty table with other columns."""
    Table.open(location).replace_schema(SCHEMA.remove(1))


def fork(location: str) -> None:
    """Start a branch."""
    Table.open(location).fork("side.1")


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


@pytest.mark.parametrize("work", sampled(WORK, 7), ids=lambda work: work.__name__)
def test_killed_at_each_named_point(omnigraph_crash: Crash, work: object) -> None:
    """SIGKILL between any two steps that have a name."""
    killed = 0
    for crashed in omnigraph_crash.everywhere(
        work,  # type: ignore[arg-type]
        prepare=fill,
        limit=sized(3, None),
        seed=commit_seed(),
    ):
        assert crashed.outcome.killed
        check(crashed, WORK[work])  # type: ignore[index]
        killed += 1
    assert killed > 0


@pytest.mark.parametrize("work", sampled(WORK, 4), ids=lambda work: work.__name__)
def test_killed_at_file_operations(traced_crash: TracedCrash, work: object) -> None:
    """SIGKILL before a file operation, also those of Lance itself, which have no name."""
    sample = traced_crash.everywhere(
        work,  # type: ignore[arg-type]
        prepare=fill,
        by="file operations",
        limit=sized(3, 6),
        seed=commit_seed(),
    )
    for crashed in sample:
        check(crashed, WORK[work])  # type: ignore[index]


def create(location: str) -> None:
    """Make a table."""
    Table.create(Path(location) / "t", SCHEMA)


def test_a_creation_cut_short_is_finished_by_trying_again(traced_crash: TracedCrash) -> None:
    """Wherever it died, creating it again gives a table, or finds the one that is there."""
    for crashed in traced_crash.everywhere(
        create, by="file operations", limit=sized(4, 12), seed=commit_seed()
    ):
        location = crashed.directory / "t"
        try:
            table = Table.create(location, SCHEMA)
        except AlreadyExists:
            table = Table.open(location)
        assert ids(table.append(rows("a")).table.read()) == ["a"]


def fill_old(location: Path) -> list[str]:
    """A table of three versions whose files have names of the old kind."""
    made = lance.write_dataset(rows("a"), location / "t", enable_v2_manifest_paths=False)
    for name in "bc":
        made = lance.write_dataset(rows(name), made, mode="append")
    return [str(location / "t")]


def rename(location: str) -> None:
    """Rename the files."""
    migrate_version_names(location)


def test_a_migration_of_names_that_was_killed_goes_on(omnigraph_crash: Crash) -> None:
    """Between any two steps: called again it ends, with every version there."""
    killed = 0
    for crashed in omnigraph_crash.everywhere(
        rename, prepare=fill_old, limit=sized(4, None), seed=commit_seed()
    ):
        assert crashed.outcome.killed
        location = crashed.arguments[0]
        migrate_version_names(location)
        table = Table.open(location)
        assert [table.at(number).count() for number in table.versions()] == [1, 2, 3]
        names = [path.name for path in Path(location, "_versions").glob("*.manifest")]
        assert len(names) == 3, str(crashed)
        killed += 1
    assert killed > 0


def work_on_each(places: list[str], old: str) -> None:
    """Do all of it, each in a table of its own."""
    for work, location in zip(WORK, places, strict=True):
        work(location)
    rename(old)


def test_every_declared_point_of_the_table_is_passed(omnigraph_crash: Crash) -> None:
    """A point that no work here passes would never be killed at."""
    folders = [omnigraph_crash.directory / f"points-{work.__name__}" for work in WORK]
    (old,) = fill_old(omnigraph_crash.directory / "points-rename")
    places = [location for folder in folders for location in fill(folder)]
    passed = set(omnigraph_crash.points(work_on_each, places, old))
    declared = {name for name in failpoints.declared() if not name.startswith("l1.refs")}
    assert passed >= {name for name in declared if name.startswith("l1.")}
