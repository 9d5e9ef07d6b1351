"""A repository behaves as the plain model: on local disk and on a real S3 server."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta, timezone
from pathlib import Path

from sizes import sized

from campaign.graph_model.graph_machine import run_graph_against_model
from omnigraph_l2 import GraphSchema, Repository
from omnigraph_testing import S3Store


def _ahead(repository: Repository) -> Repository:
    """Set a clock ahead: a cleanup spares what is young, and would never remove anything here."""
    repository._clock = lambda: datetime.now(timezone.utc) + timedelta(days=4)
    return repository


def test_on_local_disk(tmp_path: Path) -> None:
    """Histories of transactions, branches, merges, runs and maintenance."""
    places = (tmp_path / f"graph-{number}" for number in itertools.count())

    def fresh(schema: GraphSchema) -> tuple[Repository, Repository]:
        location = next(places)
        first = Repository.init(location, schema, durability="none")
        return first, _ahead(Repository.open(location, durability="none"))

    run_graph_against_model(fresh, examples=sized(3, 200))


def test_on_s3(s3_store: S3Store) -> None:
    """The same on S3, with fewer histories."""
    names = (f"graph-{number}" for number in itertools.count())

    def fresh(schema: GraphSchema) -> tuple[Repository, Repository]:
        uri, options = s3_store.uri(next(names)), s3_store.storage_options
        return Repository.init(uri, schema, options), _ahead(Repository.open(uri, options))

    run_graph_against_model(fresh, examples=sized(1, 20))
