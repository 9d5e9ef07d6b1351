"""What holds for every test here: what needs a server or a process is marked ``integration``."""

from __future__ import annotations

import pytest

_REAL_THINGS = {"crash", "faulty_s3", "processes", "s3_store"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by the fixtures that a test asks for, so that no test can forget it."""
    for item in items:
        if _REAL_THINGS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("integration")
