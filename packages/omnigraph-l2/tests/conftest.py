"""What several folders of tests share lies in ``shared``; children find it there, too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "shared"))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a writer that is called in the middle of another one not wait for its turn."""
    monkeypatch.setattr("omnigraph_l2._publishing.turns._PATIENCE_SECONDS", 0.0)


@pytest.fixture
def processes() -> None:
    """Say that a test starts processes: it is an integration test then."""
