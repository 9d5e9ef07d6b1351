"""Where file operations cannot be followed, the reason is said, and CI takes it for a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from campaign import tracing_support
from campaign.traced_crash import TracedCrash
from campaign.tracing.file_operation_kill import AtFileOperation
from campaign.tracing.tracing_errors import TracingUnavailable

pytest_plugins = ["pytester"]


@pytest.fixture
def nothing_to_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine be one of another kind."""
    tracing_support.tracing_problem.cache_clear()
    monkeypatch.setattr(tracing_support.sys, "platform", "darwin")
    yield
    tracing_support.tracing_problem.cache_clear()


def test_it_works_here() -> None:
    """This machine, on which the other tests mean something, can follow file operations."""
    assert tracing_support.tracing_problem() is None


@pytest.mark.usefixtures("nothing_to_see")
def test_the_reason_is_said(tmp_path: Path) -> None:
    """Both uses of tracing raise with the reason, and with what it needs."""
    crash = TracedCrash(tmp_path / "runs")
    with pytest.raises(TracingUnavailable, match=r"this is darwin.*It needs Linux"):
        crash.record(os.getpid, root=tmp_path)
    with pytest.raises(TracingUnavailable):
        crash.run(os.getpid, kill=AtFileOperation(1, root=tmp_path))
    assert crash.run(os.getpid).finished, "the rest does not need it"


@pytest.mark.usefixtures("nothing_to_see")
@pytest.mark.parametrize(
    ("options", "expected"),
    [([], {"failed": 1}), (["--campaign-skip-untraceable"], {"skipped": 1})],
)
def test_the_fixture_skips_only_on_request(
    pytester: pytest.Pytester, options: list[str], expected: dict[str, int]
) -> None:
    """A machine without tracing fails such a test, or skips it with the reason."""
    pytester.makepyfile(
        """
        import os
        def test_disk(traced_crash, tmp_path):
            traced_crash.record(os.getpid, root=tmp_path)
        """
    )
    plugin = ("-p", "campaign.fixtures")
    result = pytester.runpytest_inprocess("-rs", "-p", "no:cacheprovider", *plugin, *options)
    result.assert_outcomes(**expected)
    result.stdout.fnmatch_lines(["*this is darwin*"])
