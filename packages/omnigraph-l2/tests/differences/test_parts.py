"""What other processes read of a diff is what the diff tells, whatever was done."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta

import pyarrow as pa
import pytest
from differing import CITY, PERSON, Told, add, person, told
from reading_elsewhere import changed_ids

from campaign.forked_processes import process_context
from omnigraph_l2 import Diff, DiffPart, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import InvalidRequest, SnapshotExpired, UnknownTable
from omnigraph_testing import S3Store, sample_graph


def sent(parts: Iterable[DiffPart]) -> tuple[DiffPart, ...]:
    """Send them, as to another process."""
    back: tuple[DiffPart, ...] = pickle.loads(pickle.dumps(tuple(parts)))
    return back


def read(parts: Iterable[DiffPart]) -> Told:
    """Read the rows of all parts; none has more than it says, or an id of another."""
    found: Told = {}
    for part in parts:
        rows = part.rows().read_all()
        assert rows.schema == part.schema
        assert rows.num_rows <= part.rows_at_most
        for row in rows.to_pylist():
            assert row["id"] not in found
            found[row["id"]] = (row["change"], row["before"], row["after"])
    return found


def check(diff: Diff, key: str = PERSON, *, rows_of_a_part: int = 3) -> tuple[DiffPart, ...]:
    """See that the parts are the whole; give them."""
    parts = sent(diff.share(key, rows_of_a_part=rows_of_a_part))
    assert read(parts) == told(diff, key)
    assert diff.rows(key).schema == (parts[0].schema if parts else diff.rows(key).schema)
    return parts


def test_only_inserts(repo: Repository) -> None:
    """Small fragments together, large ones in ranges; the rest of the table is not there."""
    for number in range(4):
        add(repo, person(f"s{number}"))
    add(repo, *(person(f"l{number}", age=number) for number in range(7)))
    parts = check(repo.diff("start", "main"))
    assert sorted(part.rows_at_most for part in parts) == [1, 2, 2, 3, 3]
    assert all(part.before is None for part in parts)


def test_only_deletes(repo: Repository) -> None:
    """Rows of fragments that stay, and fragments that went as a whole."""
    add(repo, *(person(f"p{number}", age=number) for number in range(6)))
    add(repo, *(person(f"q{number}") for number in range(4)))
    before = repo.snapshot()
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["b", "p0", "p2", "p4"])
    parts = check(repo.diff(before, "main"))
    assert len(parts) == 2
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=[f"q{number}" for number in range(4)])
    assert {part.after for part in check(repo.diff(before, "main"))} >= {None}
    back = repo.diff("main", before)
    assert {each[0] for each in read(check(back)).values()} == {"insert"}


def test_updates_among_others(repo: Repository) -> None:
    """Then there is one part, in which ids come together."""
    add(repo, person("a", "Ann", 5), person("c"))
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["b"])
    (part,) = check(repo.diff("start", "main"))
    assert part.before is not None
    assert part.after is not None


def test_tables_that_come_and_go_and_the_beginning(repo: Repository) -> None:
    """All rows are told, in as many parts as they need; ``None`` is where nothing was."""
    repo.evolve(GraphSchema(nodes=[NodeType("Person", {"name": pa.string(), "age": pa.int32()})]))
    assert len(check(repo.diff("start", "main"), CITY)) == 1
    assert len(check(repo.diff("main", "start"), CITY)) == 1
    add(repo, *(person(f"p{number}") for number in range(8)))
    everything = repo.diff(None, "main")
    assert len(check(everything)) == 4
    assert len(told(everything)) == 10
    assert everything.tables[PERSON].inserted == 10
    assert everything.before.version == 0


def test_other_columns(repo: Repository) -> None:
    """A property that came, or went with its values."""
    nick = {"name": pa.string(), "age": pa.int32(), "nick": pa.string()}
    repo.evolve(GraphSchema(nodes=[NodeType("Person", nick)]))
    assert not read(check(repo.diff("start", "main")))
    with_nick = repo.snapshot()
    repo.evolve(GraphSchema(nodes=[NodeType("Person", {"name": pa.string()})]))
    assert read(check(repo.diff(with_nick, "main"))).keys() == {"a", "b"}


def test_some_columns(repo: Repository) -> None:
    """The rows have these, as far as they are there, and the id."""
    start = repo.snapshot()
    add(repo, person("a", "Ann", 5), person("c", "Cem", 3))
    middle = repo.snapshot()
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["b"])
    for before, after in ((start, "main"), (start, middle), (middle, "main"), (None, start)):
        (part,) = repo.diff(before, after).share(PERSON)
        rows = part.rows(["age", "nothing"]).read_all().to_pylist()
        assert rows
        for row in rows:
            for side in ("before", "after"):
                assert row[side] is None or row[side].keys() == {"id", "age"}


def test_nothing_differs(repo: Repository) -> None:
    """There are no parts where no version is another; a compaction is found out in the task."""
    diff = repo.diff("start", "main")
    assert diff.share(PERSON) == ()
    add(repo, person("c"))
    before = repo.snapshot()
    repo.optimize()
    assert not read(check(repo.diff(before, "main")))


def test_another_process_reads_them(repo: Repository) -> None:
    """One that knows nothing of the repository but the parts."""
    add(repo, *(person(f"p{number}") for number in range(4)))
    parts = repo.diff("start", "main").share(PERSON, rows_of_a_part=2)
    with ProcessPoolExecutor(1, mp_context=process_context()) as pool:
        assert pool.submit(changed_ids, parts).result(60) == ["p0", "p1", "p2", "p3"]


@pytest.mark.usefixtures("lease_at_once")
def test_what_was_cleaned_up_is_told(repo: Repository) -> None:
    """On either side, before it was opened or later."""
    add(repo, person("a", "Ann", 5), person("c"))
    parts = repo.diff("start", "main").share(PERSON)
    opened = sent(parts)
    read(opened)
    repo.tags.delete("start")
    repo.optimize()
    repo.cleanup(timedelta(0), keep_versions=1, dry_run=False)
    for each in (sent(parts), opened):
        with pytest.raises(SnapshotExpired) as raised:
            read(each)
        assert raised.value.table_key == PERSON


def test_wrong_calls_are_typed(repo: Repository) -> None:
    """As those of the diff are."""
    diff = repo.diff("start", "main", [CITY])
    for key in (PERSON, "node:Nobody", 7):
        with pytest.raises(UnknownTable):
            diff.share(key)  # type: ignore[arg-type]
    for wrong in (0, True, "1"):
        with pytest.raises(InvalidRequest, match="rows_of_a_part"):
            diff.share(CITY, rows_of_a_part=wrong)  # type: ignore[arg-type]


def test_they_show_no_secret(s3_store: S3Store) -> None:
    """They carry what opens the store, and their text does not."""
    with sample_graph(s3_store.uri("graph"), s3_store.storage_options) as repo:
        parts = sent(repo.diff(None, "main").share(PERSON))
    assert s3_store.secret_key not in repr(parts)
    assert changed_ids(parts) == ["ann", "bob", "eve"]
