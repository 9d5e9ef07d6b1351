"""The pytest plugin: fixtures by name, and nothing heavy imported until one is asked for.

Only pytest and the standard library are imported at the top; every fixture imports what it needs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from omnigraph_l2 import Repository
    from omnigraph_testing import Crash, DynamoTable, FaultyS3, S3Server, S3Store, ServerUnavailable

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
        "--omnigraph-s3-endpoint",
        metavar="URL",
        default=None,
        help="use the S3 server that listens there instead of starting one; credentials come from "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    )
    group.addoption(
        "--omnigraph-s3-bucket",
        metavar="NAME",
        default="omnigraph-testing",
        help="the bucket that tests use there (default omnigraph-testing); created if missing",
    )
    group.addoption(
        "--omnigraph-skip-without-s3",
        action="store_true",
        default=False,
        help="skip, instead of failing, tests whose server is unavailable (also the ini setting "
        "omnigraph_skip_without_s3)",
    )
    parser.addini("omnigraph_s3", "which S3 server the fixtures start: seaweedfs or moto")
    parser.addini(
        "omnigraph_skip_without_s3", "skip tests whose server is unavailable", "bool", False
    )


@pytest.fixture(scope="session")
def omnigraph_s3_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[S3Server]:
    """Start an S3 server once in a test run, for all workers of xdist, or use an existing one."""
    config = request.config
    endpoint = config.getoption("--omnigraph-s3-endpoint")
    if endpoint is not None:
        yield _connect(endpoint, config)
        return
    kind = (
        config.getoption("--omnigraph-s3")
        or os.environ.get("OMNIGRAPH_S3")
        or config.getini("omnigraph_s3")
        or "seaweedfs"
    )
    with _server(kind, config, tmp_path_factory) as server:
        yield server


@pytest.fixture
def s3_store(omnigraph_s3_server: S3Server) -> S3Store:
    """Return a fresh prefix on a real S3 server."""
    return omnigraph_s3_server.store()


@pytest.fixture
def faulty_s3(s3_store: S3Store) -> Iterator[FaultyS3]:
    """Return a fresh prefix on a real S3 server, behind a gateway that can fail."""
    from omnigraph_testing import start_faulty_s3  # noqa: PLC0415

    with start_faulty_s3(s3_store) as faulty:
        yield faulty


@pytest.fixture(scope="session")
def omnigraph_dynamodb_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[S3Server]:
    """Start moto's server, which speaks DynamoDB, once in a test run, for all workers."""
    with _server("moto", request.config, tmp_path_factory) as server:
        yield server


@pytest.fixture
def omnigraph_dynamodb_table(omnigraph_dynamodb_server: S3Server) -> DynamoTable:
    """Return a fresh DynamoDB table, for locations like ``s3+ddb://…``."""
    from omnigraph_testing._servers.dynamodb_table import new_table  # noqa: PLC0415

    return new_table(omnigraph_dynamodb_server)


@pytest.fixture
def omnigraph_repo(tmp_path: Path) -> Iterator[Repository]:
    """Return a small repository on local disk: people, cities, and edges between them."""
    from omnigraph_testing import MissingExtra  # noqa: PLC0415

    missing = None
    try:
        from omnigraph_testing import sample_graph  # noqa: PLC0415
    except MissingExtra as error:
        missing = str(error)
    if missing is not None:
        pytest.fail(missing, pytrace=False)
    with sample_graph(tmp_path / "omnigraph_repo") as repository:
        yield repository


@pytest.fixture
def omnigraph_crash(tmp_path_factory: pytest.TempPathFactory) -> Crash:
    """Return a runner that executes code in a process of its own and kills it at a location."""
    from omnigraph_testing import Crash  # noqa: PLC0415

    return Crash(tmp_path_factory.mktemp("crash"))


def _connect(endpoint: str, config: pytest.Config) -> S3Server:
    from omnigraph_testing import ServerUnavailable, connect_s3  # noqa: PLC0415

    try:
        return connect_s3(endpoint, bucket=config.getoption("--omnigraph-s3-bucket"))
    except ServerUnavailable as error:
        _fail_or_skip(error, config)


@contextlib.contextmanager
def _server(
    kind: str, config: pytest.Config, factory: pytest.TempPathFactory
) -> Iterator[S3Server]:
    from omnigraph_testing import ServerUnavailable, start_s3  # noqa: PLC0415

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(
                start_s3(kind, directory=_shared_directory(config, factory))
            )
        except ServerUnavailable as error:
            _fail_or_skip(error, config)
        yield server


def _fail_or_skip(error: ServerUnavailable, config: pytest.Config) -> NoReturn:
    """Fail; skip only if the project asked for that."""
    option, ini = "--omnigraph-skip-without-s3", "omnigraph_skip_without_s3"
    if config.getoption(option) or config.getini(ini):
        pytest.skip(str(error))
    pytest.fail(f"{error} ({option} skips such tests.)", pytrace=False)


def _shared_directory(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    base = factory.getbasetemp()
    return base.parent if hasattr(config, "workerinput") else base
