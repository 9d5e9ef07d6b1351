"""What holds for every test here: what needs a server, a process, a browser or a JVM is marked so.

And no test leaves events switched on for the next one: structlog would print them. And drawn
examples may take their time, as in CI: how long one takes depends on what else the machine does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from omnigraph_testing import S3Server

# The tests of all packages share what is there; processes that they start find it, too.
_SHARED = Path(__file__).parent / "checks" / "shared"
sys.path.insert(0, str(_SHARED))

# JVMs that tests start, or programs of theirs, live for seconds.
os.environ.setdefault("SPARK_CONF_DIR", str(_SHARED / "spark"))

pytest_plugins = ["campaign.fixtures"]

_MARKERS = {
    "browser": {"browser"},
    "integration": {
        "omnigraph_crash",
        "omnigraph_dynamodb_server",
        "omnigraph_s3_server",
        "processes",
        "traced_crash",
    },
    "spark": {"cluster", "spark"},
}


def _give_examples_time() -> None:
    """Load a profile of this checkout, unless the environment, or that it is a CI, chose one."""
    try:
        from hypothesis import HealthCheck, settings  # noqa: PLC0415  # not every session has it
    except ImportError:
        return
    settings.register_profile(
        "checkout", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    if settings.get_current_profile_name() == "default":
        settings.load_profile("checkout")


_give_examples_time()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by the fixtures that a test asks for, so that no test can forget it."""
    for item in items:
        for marker, fixtures in _MARKERS.items():
            if fixtures.intersection(getattr(item, "fixturenames", ())):
                item.add_marker(marker)


@pytest.fixture(scope="session")
def omnigraph_s3_server(omnigraph_s3_server: S3Server) -> Iterator[S3Server]:
    """Let clients of a server on localhost not read all certificates of the system.

    Lance makes a client for each dataset that it creates, and each reads them, which takes more
    CPU time than all requests of a small test. HTTP needs none of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        if omnigraph_s3_server.endpoint.startswith("http://"):
            patch.setenv("SSL_CERT_FILE", str(_SHARED / "unused_authority.pem"))
            patch.delenv("SSL_CERT_DIR", raising=False)
        yield omnigraph_s3_server


@pytest.fixture(autouse=True)
def _no_events_left_on() -> Iterator[None]:
    yield
    structlog = sys.modules.get("structlog")
    if structlog is not None:
        structlog.reset_defaults()
