"""Where the repositories of tests are: on local disk and on a real S3 server alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from omnigraph_l2 import GraphSchema, Repository
from omnigraph_testing import IgnoreConditions, Rule

__all__ = ["AT_NIGHT", "DYNAMODB", "EACH_STORE", "S3_AT_NIGHT", "location_in", "made"]

EACH_STORE = ["local", pytest.param("s3", marks=pytest.mark.integration)]
"""The parameters of a fixture that calls one of these."""
DYNAMODB = [pytest.param("dynamodb", marks=pytest.mark.integration)]
"""One more: an S3 server that ignores conditions, with a DynamoDB table that decides versions."""
AT_NIGHT = [pytest.param("dynamodb", marks=[pytest.mark.integration, pytest.mark.slow])]
"""The same, where only the nightly run has the time."""
S3_AT_NIGHT = pytest.mark.parametrize(
    "repo",
    ["local", pytest.param("s3", marks=[pytest.mark.integration, pytest.mark.slow])],
    indirect=True,
)
"""For rules that do not depend on the store, where other tests of the module run on S3 as well."""


def location_in(
    request: pytest.FixtureRequest, tmp_path: Path, name: str = "repo"
) -> tuple[str, Mapping[str, str] | None]:
    """Name a place in the store of this parameter, with the options that open it."""
    if request.param == "local":
        return str(tmp_path / name), None
    if request.param == "dynamodb":
        return _with_dynamodb(request, name)
    store = request.getfixturevalue("s3_store")
    return store.uri(name), store.storage_options


def _with_dynamodb(request: pytest.FixtureRequest, name: str) -> tuple[str, Mapping[str, str]]:
    careless = request.getfixturevalue("faulty_s3")
    careless.inject(Rule(IgnoreConditions()))
    table = request.getfixturevalue("omnigraph_dynamodb_table")
    location = f"{careless.uri(name).replace('s3://', 's3+ddb://')}?ddbTableName={table.name}"
    return location, {**careless.storage_options, **table.storage_options}


def made(request: pytest.FixtureRequest, tmp_path: Path, schema: GraphSchema) -> Repository:
    """Make an empty repository in the store of this parameter."""
    uri, options = location_in(request, tmp_path)
    durability = "none" if options is None else None
    return Repository.init(uri, schema, options, durability=durability)
