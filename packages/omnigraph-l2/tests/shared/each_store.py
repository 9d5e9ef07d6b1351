"""Where the repositories of tests are: on local disk and on a real S3 server alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from omnigraph_l2 import GraphSchema, Repository

__all__ = ["EACH_STORE", "made", "place_in"]

EACH_STORE = ["local", pytest.param("s3", marks=pytest.mark.integration)]
"""The parameters of a fixture that calls one of these."""


def place_in(
    request: pytest.FixtureRequest, tmp_path: Path, name: str = "repo"
) -> tuple[str, Mapping[str, str] | None]:
    """Name a place in the store of this parameter, with the options that open it."""
    if request.param == "local":
        return str(tmp_path / name), None
    store = request.getfixturevalue("s3_store")
    return store.uri(name), store.storage_options


def made(request: pytest.FixtureRequest, tmp_path: Path, schema: GraphSchema) -> Repository:
    """Make an empty repository in the store of this parameter."""
    uri, options = place_in(request, tmp_path)
    durability = "none" if options is None else None
    return Repository.init(uri, schema, options, durability=durability)
