"""The changes feed: what each commit changed, in order, from any point on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from differing import CITY, PERSON, SCHEMA, add, contents, person, told

from omnigraph_l2 import ChangeSet, GraphSchema, Repository
from omnigraph_l2.errors import (
    InvalidRequest,
    NotOnBranch,
    SnapshotExpired,
    UnknownBranch,
    UnknownReference,
    UnknownVersion,
)

MANY = 150


def cursors(*change_sets: ChangeSet) -> list[str]:
    """Give their cursors."""
    return [each.cursor for each in change_sets]


def test_all_of_them(repo: Repository) -> None:
    """One for each commit of the log, oldest first; put together, they make what is there."""
    add(repo, person("a", "Ann", 3), person("c"))
    with repo.transaction(message="bye") as tx:
        tx.delete(PERSON, ids=["b"])
    repo.evolve(GraphSchema(nodes=[SCHEMA.nodes[0]]))
    change_sets = list(repo.changes())
    assert [each.commit for each in change_sets] == repo.log()[::-1]
    rows: dict[str, dict[str, object]] = {}
    for each in change_sets:
        for key, table in each.diff.tables.items():
            held = rows.setdefault(key, {})
            for row_id, (_, before, after) in told(each.diff, key).items():
                assert held.pop(row_id, None) == before
                if after is not None:
                    held[row_id] = after
            if table.change.value == "removed":
                assert not rows.pop(key)
    assert rows == contents(repo)


def test_going_on(repo: Repository) -> None:
    """From any cursor, commit, tag, version or snapshot the rest follows, and nothing twice."""
    for number in range(5):
        add(repo, person(f"p{number}"))
    every = list(repo.changes())
    for number, each in enumerate(every):
        rest = cursors(*every[number + 1 :])
        assert each.cursor == each.commit.graph_commit_id
        assert cursors(*repo.changes(each.cursor)) == rest
        assert cursors(*repo.changes(each.commit.manifest_version)) == rest
        assert cursors(*repo.changes(repo.snapshot(commit=each.cursor))) == rest
        assert cursors(*repo.changes(each.cursor, limit=2)) == rest[:2]
    assert told(next(repo.changes("start")).diff).keys() == {"p0"}
    assert not list(repo.changes("main"))
    assert not list(repo.changes(limit=0))


def test_one_that_is_asked_for_stays_as_it_is(repo: Repository) -> None:
    """What is published while it is read comes the next time."""
    feed = repo.changes("start")
    first = add(repo, person("x"))
    assert not list(feed)
    repo.flush()
    feed, everything = repo.changes("start"), repo.changes()
    second = add(repo, person("y"))
    repo.flush()  # the log has the second one now
    assert cursors(*feed) == [first]
    assert cursors(*everything)[-1] == first
    assert cursors(*repo.changes(first)) == [second]


def test_a_branch(repo: Repository) -> None:
    """It begins with what it took over; what others did since is not in it."""
    repo.branches.create("side")
    mine = add(repo, person("mine"), branch="side")
    theirs = add(repo, person("theirs"))
    every = list(repo.changes(branch="side"))
    assert [each.commit for each in every] == repo.log("side")[::-1]
    assert told(every[-1].diff).keys() == {"mine"}
    for each in every:
        following = cursors(*every[every.index(each) + 1 :])
        assert cursors(*repo.changes(each.cursor, branch="side")) == following
    with pytest.raises(NotOnBranch):
        repo.changes(mine)
    with pytest.raises(NotOnBranch):
        repo.changes("main", branch="side")
    with pytest.raises(NotOnBranch) as found:
        repo.changes(theirs, branch="side")
    assert (found.value.branch, found.value.reference) == ("side", theirs)


def test_what_is_wrong_is_told_at_once(repo: Repository) -> None:
    """Before the first change set is asked for."""
    with pytest.raises(UnknownReference):
        repo.changes("no cursor")
    for version in (0, 10_000):
        with pytest.raises(UnknownVersion):
            repo.changes(version)
    with pytest.raises(UnknownBranch):
        repo.changes(branch="nowhere")
    for wrong in (1.5, True, b"x"):
        with pytest.raises(InvalidRequest):
            repo.changes(wrong)  # type: ignore[arg-type]
    for limit in (-1, True, "3"):
        with pytest.raises(InvalidRequest, match="limit"):
            repo.changes(limit=limit)  # type: ignore[arg-type]


def test_long_histories(repo: Repository) -> None:
    """What left the catalog for the log comes all the same, in its place."""
    made = [add(repo, person("p", age=number)) for number in range(MANY)]
    assert len(repo._branch("main").catalog.refresh().state.publishes) < MANY
    with Repository.open(repo.uri) as other:
        assert cursors(*other.changes("start")) == made
        ages = [told(each.diff)["p"][2] for each in other.changes(made[50], limit=3)]
        assert ages == [person("p", age=number) for number in (51, 52, 53)]
        version = repo.commit(made[10]).manifest_version
        assert cursors(*other.changes(version, limit=2)) == made[11:13]
        assert cursors(*other.changes(made[-3])) == made[-2:]


def test_several_commits_in_one_write(repo: Repository, written_together: list[str]) -> None:
    """Each tells what it changed alone; a cursor between them goes on with the second."""
    every = list(repo.changes("start"))
    assert cursors(*every) == written_together
    assert sorted(key for each in every for key in each.diff.tables) == [CITY, PERSON]
    assert len({each.commit.manifest_version for each in every}) == 1
    (second,) = repo.changes(written_together[0])
    assert second.cursor == written_together[1]
    assert second.diff.tables == every[1].diff.tables
    assert not list(repo.changes(written_together[1]))
    assert not list(repo.changes(every[0].commit.manifest_version))


def test_a_commit_that_is_gone(repo: Repository) -> None:
    """It is told as expired, where it is reached: nothing is passed over."""
    made = [add(repo, person(f"p{number}")) for number in range(4)]
    gone = repo.commit(made[1]).manifest_version
    (Path(repo.uri) / "__manifest" / "_versions" / f"{2**64 - 1 - gone}.manifest").unlink()
    with Repository.open(repo.uri) as other:
        feed = other.changes("start")
        assert next(feed).cursor == made[0]
        with pytest.raises(SnapshotExpired):
            next(feed)
        with pytest.raises(SnapshotExpired):
            other.changes(made[1])
        assert cursors(*other.changes(made[2])) == made[3:]


@pytest.mark.usefixtures("lease_at_once")
def test_after_a_cleanup(tmp_path: Path) -> None:
    """What is gone is told as expired; what is kept is compared, also where branches parted."""
    location = tmp_path / "cleaned"
    with Repository.init(location, SCHEMA, durability="none") as repo:
        add(repo, person("a", "Ann"), person("b"))
        repo.branches.create("side")
        add(repo, person("s"), branch="side")
        made = [add(repo, person(f"p{number}")) for number in range(4)]
        repo.tags.create("kept", made[2])
    with Repository.open(location, durability="none") as repo:
        repo.cleanup(timedelta(0), dry_run=False)
        with pytest.raises(SnapshotExpired):
            [each.diff.tables for each in repo.changes()]
        with pytest.raises(SnapshotExpired):
            next(repo.changes(made[0])).diff.rows(PERSON)
        (last,) = repo.changes("kept")
        assert last.cursor == made[3]
        assert told(last.diff).keys() == {"p3"}
        assert told(repo.diff("side", "main")).keys() == {"s", "p0", "p1", "p2", "p3"}
