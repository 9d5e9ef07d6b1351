"""The feed while other processes publish: no commit is missed, and none comes twice."""

from __future__ import annotations

import pytest
from differing import SCHEMA, follow, write_often
from fleet import Place, assert_linear, at_once

WRITERS, TIMES = 3, 8


def job(kind: str, place: Place, number: int) -> object:
    """Write, or follow."""
    options = None if place.options is None else dict(place.options)
    if kind == "write":
        return write_often(place.uri, options, number, TIMES)
    return follow(place.uri, options, number)


@pytest.mark.usefixtures("processes")
def test_following_while_others_publish(place: Place) -> None:
    """Two who follow, each from cursor to cursor, see the very commits of the log, in order."""
    place.make(SCHEMA).close()
    commits = WRITERS * TIMES
    jobs = [("write", place, who) for who in range(WRITERS)]
    jobs += [("follow", place, commits + 1)] * 2
    seen = [each for each in at_once(job, jobs) if isinstance(each, list)]
    with place.open() as repo:
        assert_linear(repo, commits)
        log = [commit.graph_commit_id for commit in repo.log()[::-1]]
        people = repo.snapshot().tables["node:Person"].row_count
        cities = repo.snapshot().tables["node:City"].row_count
    assert len(seen) == 2
    for each in seen:
        assert [cursor for cursor, _ in each] == log
        assert sum(inserted for _, inserted in each) == people + cities
