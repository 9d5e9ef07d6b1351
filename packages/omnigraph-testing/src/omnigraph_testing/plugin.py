"""The pytest plugin: fixtures by name, and nothing heavy imported until one is asked for.

Only pytest and the standard library are imported at the top; every fixture imports what it needs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from omnigraph_l2 import Repository
    from omnigraph_testing import Crash, DynamoTable, FaultyS3, S3Server, S3Store

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the S3 fixtures."""
    group = parser.getgroup("omnigraph", "OmniGraph: stores and faults")
    group.addoption(
        "--omnigraph-s3",
        choices=("seaweedfs", "moto"),
        default=None,
        help="which S3 server the fixtures start (default seaweedfs; also the ini setting "
        "omnigraph_s3, or the environment variable OMNIGRAPH_S3)",
    )
    group.addoption(
        "--omnigraph-require-s3",
        action="store_true",
        default=False,
        help="fail, instead of skipping, where the S3 server cannot run (as with CI=true)",
    )
    group.addoption(
        "--omnigraph-require-tracing",
        action="store_true",
        default=False,
        help="fail, instead of skipping, where file operations of a process cannot be followed "
        "(as with CI=true)",
    )
    parser.addini("omnigraph_s3", "which S3 server the fixtures start: seaweedfs or moto")


@pytest.fixture(scope="session")
def s3_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[S3Server]:
    """Start a real S3 server, once in a test run, shared by all workers of pytest-xdist."""
    config = request.config
    kind = (
        config.getoption("--omnigraph-s3")
        or os.environ.get("OMNIGRAPH_S3")
        or config.getini("omnigraph_s3")
        or "seaweedfs"
    )
    with _server(kind, config, tmp_path_factory) as server:
        yield server


@pytest.fixture
def s3_store(s3_server: S3Server) -> S3Store:
    """Give the test a fresh prefix on a real S3 server."""
    return s3_server.store()


@pytest.fixture
def faulty_s3(s3_store: S3Store) -> Iterator[FaultyS3]:
    """Give the test a fresh prefix on a real S3 server, behind a gateway that can fail."""
    from omnigraph_testing import start_faulty_s3  # noqa: PLC0415

    with start_faulty_s3(s3_store) as faulty:
        yield faulty


@pytest.fixture(scope="session")
def dynamodb_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[S3Server]:
    """Start moto's server, which speaks DynamoDB, once in a test run, for all workers."""
    with _server("moto", request.config, tmp_path_factory) as server:
        yield server


@pytest.fixture
def dynamodb_table(dynamodb_server: S3Server) -> DynamoTable:
    """Give the test a fresh DynamoDB table, for places like ``s3+ddb://…``."""
    from omnigraph_testing._servers._dynamodb import new_table  # noqa: PLC0415

    return new_table(dynamodb_server)


@pytest.fixture
def omnigraph_repo(tmp_path: Path) -> Iterator[Repository]:
    """Give the test a small repository on local disk: people, cities, and edges between them."""
    from omnigraph_testing import sample_graph  # noqa: PLC0415

    with sample_graph(tmp_path / "omnigraph_repo") as repository:
        yield repository


@pytest.fixture
def crash(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Crash:
    """Run code in a process of its own, kill it at a chosen place, and see what it left."""
    from omnigraph_testing import Crash, TracingUnavailable  # noqa: PLC0415

    required = request.config.getoption("--omnigraph-require-tracing")

    def unavailable(problem: TracingUnavailable) -> None:
        if required or os.environ.get("CI") == "true":
            pytest.fail(str(problem), pytrace=False)
        pytest.skip(str(problem))

    return Crash(tmp_path_factory.mktemp("crash"), unavailable=unavailable)


@contextlib.contextmanager
def _server(
    kind: str, config: pytest.Config, factory: pytest.TempPathFactory
) -> Iterator[S3Server]:
    """Start a server, or skip; where it must run, fail."""
    from omnigraph_testing import ServerUnavailable, start_s3  # noqa: PLC0415

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(
                start_s3(kind, directory=_shared_directory(config, factory))
            )
        except ServerUnavailable as exc:
            must_run = config.getoption("--omnigraph-require-s3") or os.environ.get("CI") == "true"
            if must_run:
                pytest.fail(str(exc), pytrace=False)
            pytest.skip(str(exc))
        yield server


def _shared_directory(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    base = factory.getbasetemp()
    return base.parent if hasattr(config, "workerinput") else base
