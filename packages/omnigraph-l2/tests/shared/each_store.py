"""Where the repositories of tests are: on local disk and on a real S3 server alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from omnigraph_l2 import GraphSchema, Repository
from omnigraph_testing import IgnoreConditions, Rule

__all__ = ["AT_NIGHT", "EACH_STORE", "VERSION_STORES", "made", "place_in"]

EACH_STORE = ["local", pytest.param("s3", marks=pytest.mark.integration)]
"""The parameters of a fixture that calls one of these."""
_UNDECIDED = [f"careless, {kind}" for kind in ("sqlite", "bucket", "dynamodb")]
VERSION_STORES = [pytest.param(each, marks=pytest.mark.integration) for each in _UNDECIDED]
"""More of them: an S3 server that ignores conditions, and what decides the versions there."""
AT_NIGHT = [
    pytest.param(each, marks=[pytest.mark.integration, pytest.mark.slow]) for each in _UNDECIDED
]
"""The same, where only the nightly run has the time."""


def place_in(
    request: pytest.FixtureRequest, tmp_path: Path, name: str = "repo"
) -> tuple[str, Mapping[str, str] | None]:
    """Name a place in the store of this parameter, with the options that open it."""
    if request.param == "local":
        return str(tmp_path / name), None
    if request.param != "s3":
        return _undecided(request, tmp_path, name)
    store = request.getfixturevalue("s3_store")
    return store.uri(name), store.storage_options


def _undecided(
    request: pytest.FixtureRequest, tmp_path: Path, name: str
) -> tuple[str, Mapping[str, str]]:
    careless = request.getfixturevalue("faulty_s3")
    careless.inject(Rule(IgnoreConditions()))
    uri, options = careless.uri(name), careless.storage_options
    if request.param.endswith("dynamodb"):
        table = request.getfixturevalue("dynamodb_table")
        place = f"{uri.replace('s3://', 's3+ddb://')}?ddbTableName={table.name}"
        return place, {**options, **table.storage_options}
    if request.param.endswith("sqlite"):
        return uri, {**options, "version_store": f"sqlite://{tmp_path}/versions.db"}
    decider = request.getfixturevalue("s3_store").below("decides")
    own = {"version_store": decider.uri(), "version_store.aws_endpoint": decider.endpoint}
    return uri, {**options, **own}


def made(request: pytest.FixtureRequest, tmp_path: Path, schema: GraphSchema) -> Repository:
    """Make an empty repository in the store of this parameter."""
    uri, options = place_in(request, tmp_path)
    durability = "none" if options is None else None
    return Repository.init(uri, schema, options, durability=durability)
