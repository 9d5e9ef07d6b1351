"""The feed while other processes publish: no commit is missed, and none comes twice."""

from __future__ import annotations

import pytest
from differing import SCHEMA, write_or_follow
from fleet import Location, assert_linear, at_once
from sizes import sized

WRITERS, TIMES = 3, sized(5, 8)


@pytest.mark.usefixtures("processes")
def test_following_while_others_publish(location: Location) -> None:
    """Two who follow, each from cursor to cursor, see the very commits of the log, in order."""
    location.make(SCHEMA).close()
    commits = WRITERS * TIMES
    jobs = [("write", location, who, TIMES) for who in range(WRITERS)]
    jobs += [("follow", location, commits + 1, TIMES)] * 2
    seen = [each for each in at_once(write_or_follow, jobs) if isinstance(each, list)]
    with location.open() as repo:
        assert_linear(repo, commits)
        log = [commit.graph_commit_id for commit in repo.log()[::-1]]
        people = repo.snapshot().tables["node:Person"].row_count
        cities = repo.snapshot().tables["node:City"].row_count
    assert len(seen) == 2
    for each in seen:
        assert [cursor for cursor, _ in each] == log
        assert sum(inserted for _, inserted in each) == people + cities
