"""The feed while other processes publish: no commit is missed, and none comes twice."""

from __future__ import annotations

import pytest
from differing import SCHEMA, write_or_follow
from fleet import Place, assert_linear, at_once

WRITERS, TIMES = 3, 8


@pytest.mark.usefixtures("processes")
def test_following_while_others_publish(place: Place) -> None:
    """Two who follow, each from cursor to cursor, see the very commits of the log, in order."""
    place.make(SCHEMA).close()
    commits = WRITERS * TIMES
    jobs = [("write", place, who, TIMES) for who in range(WRITERS)]
    jobs += [("follow", place, commits + 1, TIMES)] * 2
    seen = [each for each in at_once(write_or_follow, jobs) if isinstance(each, list)]
    with place.open() as repo:
        assert_linear(repo, commits)
        log = [commit.graph_commit_id for commit in repo.log()[::-1]]
        people = repo.snapshot().tables["node:Person"].row_count
        cities = repo.snapshot().tables["node:City"].row_count
    assert len(seen) == 2
    for each in seen:
        assert [cursor for cursor, _ in each] == log
        assert sum(inserted for _, inserted in each) == people + cities
