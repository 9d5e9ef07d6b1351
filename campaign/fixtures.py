"""The pytest plugin of the campaign, loaded by the repository's ``conftest.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from campaign.traced_crash import TracedCrash

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that skips what cannot be traced."""
    parser.getgroup("campaign", "verification of OmniGraph").addoption(
        "--campaign-skip-untraceable",
        action="store_true",
        default=False,
        help="skip, instead of failing, tests that trace file operations where that is impossible",
    )


@pytest.fixture
def traced_crash(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TracedCrash:
    """Return a crash runner that can also trace and record operations on files."""
    # Here: some sessions run pytest where no package of ours is installed.
    from campaign.traced_crash import TracedCrash  # noqa: PLC0415
    from campaign.tracing_support import tracing_problem  # noqa: PLC0415

    problem = tracing_problem()
    if problem is not None and request.config.getoption("--campaign-skip-untraceable"):
        pytest.skip(f"file operations cannot be traced: {problem}")
    return TracedCrash(tmp_path_factory.mktemp("crash"))
