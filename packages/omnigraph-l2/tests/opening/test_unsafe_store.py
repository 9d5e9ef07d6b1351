"""A store that carries out conditional puts although their condition does not hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from small_graph import SCHEMA, append

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import UnsafeStore
from omnigraph_testing import FaultyS3, IgnoreConditions, Rule

pytestmark = pytest.mark.integration

WRITES: dict[str, Callable[[Repository], object]] = {
    "transaction": lambda repo: append(repo, "new"),
    "branch": lambda repo: repo.branches.create("other"),
    "delete branch": lambda repo: repo.branches.delete("side"),
    "merge": lambda repo: repo.branches.merge("side"),
    "tag": lambda repo: repo.tags.create("v2"),
    "delete tag": lambda repo: repo.tags.delete("v1"),
    "run": lambda repo: repo.runs.begin(),
    "evolve": lambda repo: repo.evolve(GraphSchema(nodes=[*SCHEMA.nodes, NodeType("City")])),
    "optimize": lambda repo: repo.optimize(),
    "cleanup": lambda repo: repo.cleanup(older_than=timedelta(), dry_run=False),
    "repair": lambda repo: repo.repair(dry_run=False),
    "revert": lambda repo: repo.revert(repo.log()[0].graph_commit_id),
}


@pytest.mark.parametrize("operation", WRITES)
def test_it_is_refused_before_the_first_write(faulty_s3: FaultyS3, operation: str) -> None:
    """Two writers would both be acknowledged, and one of them lost."""
    where, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(where, SCHEMA, options) as repo:
        append(repo, "ann")
        repo.branches.create("side")
        append(repo, "bob", branch="side")
        repo.tags.create("v1")
    # By this name nothing in this process has tried the store out yet.
    again = {key: value.replace("127.0.0.1", "localhost") for key, value in options.items()}
    faulty_s3.inject(Rule(IgnoreConditions(), "PUT"))
    with Repository.open(where, again) as repo:
        before = len(faulty_s3.requests)
        with pytest.raises(UnsafeStore):
            WRITES[operation](repo)
        asked = faulty_s3.requests[before:]
        written = {each.key for each in asked if each.method in {"PUT", "POST", "DELETE"}}
    assert not [key for key in written if "/.probe/" not in key]
