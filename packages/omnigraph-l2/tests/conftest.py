"""What several folders of tests share lies in ``shared``; children find it there, too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from campaign.forked_processes import ForkedCrash, ForkedTracedCrash
from campaign.traced_crash import TracedCrash

sys.path.insert(0, str(Path(__file__).parent / "shared"))


@pytest.fixture
def omnigraph_crash(tmp_path_factory: pytest.TempPathFactory) -> ForkedCrash:
    """Return a crash runner whose processes do not import our packages again."""
    return ForkedCrash(tmp_path_factory.mktemp("crash"))


@pytest.fixture
def traced_crash(traced_crash: TracedCrash) -> ForkedTracedCrash:
    """Return the same where operations on files are traced, if they can be."""
    return ForkedTracedCrash(traced_crash.directory)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a writer that is called in the middle of another one not wait for its turn."""
    monkeypatch.setattr("omnigraph_l2._commit.writer_queue.LOCK_TURN_SECONDS", 0.0)


@pytest.fixture
def lease_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let readers take a lease at once, and a cleanup remove what was visible a moment ago."""
    monkeypatch.setattr("omnigraph_l2._commit.leases.SHORT_READ_SECONDS", 0.0)


@pytest.fixture
def processes() -> None:
    """Say that a test starts processes: it is an integration test then."""
