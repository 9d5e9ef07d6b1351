"""What holds for every test here: what needs a server, a process, a browser or a JVM is marked so.

And no test leaves events switched on for the next one: structlog would print them.
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
