"""Where file operations cannot be followed, the reason is said, and CI takes it for a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from omnigraph_testing import (
    AtFileOperation,
    Crash,
    TracingUnavailable,
    tracing_problem,
)
from omnigraph_testing._crash import _available

pytest_plugins = ["pytester"]


@pytest.fixture
def nothing_to_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine be one of another kind."""
    _available.tracing_problem.cache_clear()
    monkeypatch.setattr(_available.sys, "platform", "darwin")
    yield
    _available.tracing_problem.cache_clear()


def test_it_works_here() -> None:
    """This machine, on which the other tests mean something, can follow file operations."""
    assert tracing_problem() is None


@pytest.mark.usefixtures("nothing_to_see")
def test_the_reason_is_said(tmp_path: Path) -> None:
    """Both uses of tracing raise with the reason, and with what it needs."""
    crash = Crash(tmp_path / "runs")
    with pytest.raises(TracingUnavailable, match=r"this is darwin.*It needs Linux"):
        crash.record(os.getpid, root=tmp_path)
    with pytest.raises(TracingUnavailable):
        crash.run(os.getpid, kill=AtFileOperation(1, root=tmp_path))
    assert crash.run(os.getpid).finished, "the rest does not need it"


@pytest.mark.usefixtures("nothing_to_see")
@pytest.mark.parametrize(
    ("ci", "options", "expected"),
    [
        (None, [], {"skipped": 1}),
        ("true", [], {"failed": 1}),
        (None, ["--omnigraph-require-tracing"], {"failed": 1}),
    ],
)
def test_the_fixture_skips_or_fails(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    ci: str | None,
    options: list[str],
    expected: dict[str, int],
) -> None:
    """On a laptop such a test is skipped; where it must run it fails, with the same reason."""
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)
    pytester.makepyfile(
        """
        import os
        def test_disk(crash, tmp_path):
            crash.record(os.getpid, root=tmp_path)
        """
    )
    result = pytester.runpytest_inprocess("-rs", "-p", "no:cacheprovider", *options)
    result.assert_outcomes(**expected)
    result.stdout.fnmatch_lines(["*cannot be followed here: this is darwin*"])
