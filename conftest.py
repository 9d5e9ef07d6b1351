"""What holds for every test here: what needs a server, a process, a browser or a JVM is marked so.

And no test leaves events switched on for the next one: structlog would print them. And drawn
examples may take their time, as in CI: how long one takes depends on what else the machine does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

_MARKERS = {
    "browser": {"browser"},
    "integration": {"crash", "dynamodb_table", "faulty_s3", "processes", "s3_store"},
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


@pytest.fixture(autouse=True)
def _no_events_left_on() -> Iterator[None]:
    yield
    structlog = sys.modules.get("structlog")
    if structlog is not None:
        structlog.reset_defaults()
