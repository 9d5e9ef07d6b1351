"""``omnigraph explore`` as somebody types it: a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from listening import LISTENING

pytestmark = pytest.mark.usefixtures("processes")


def command(*typed: object) -> list[str]:
    """Give the words of a process."""
    return [sys.executable, "-m", "omnigraph_l2", "explore", *map(str, typed)]


def run(*typed: object) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(command(*typed), capture_output=True, text=True, check=False, timeout=300)


def test_it_serves_until_ctrl_c(told: tuple[Path, dict[str, str]]) -> None:
    """The address comes at once, also into a pipe; Ctrl-C ends it, and that is no failure."""
    with subprocess.Popen(
        [*LISTENING, "explore", str(told[0]), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        found: dict[str, Any] = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"{found['url']}api/about", timeout=60) as reply:
            assert json.loads(reply.read())["name"] == told[0].name
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "Traceback" not in errors
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(found["url"], timeout=60)


def test_it_writes_a_file(told: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """A page with what was asked for in it; the result names it."""
    place = tmp_path / "page.html"
    done = run("--repo", told[0], "--out", place, "--commits", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"file": str(place), "bytes": place.stat().st_size}
    assert "the newest 2 commits" in place.read_text()


@pytest.mark.parametrize(
    ("typed", "status", "kind"),
    [
        (["nowhere"], 1, "repository_not_found"),
        (["--port", "70000"], 2, "invalid_request"),
        (["--out", "missing/page.html"], 2, "invalid_request"),
    ],
)
def test_what_makes_no_sense_is_refused(
    told: tuple[Path, dict[str, str]], typed: list[str], status: int, kind: str, tmp_path: Path
) -> None:
    """One sentence, the status of its sort, and no file."""
    place = str(told[0]) if typed != ["nowhere"] else str(tmp_path / "nowhere")
    given = [
        each.replace("missing/", f"{tmp_path}/missing/") for each in typed if each != "nowhere"
    ]
    done = subprocess.run(
        command(place, *given, "--json"), capture_output=True, text=True, check=False, timeout=300,
        cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["error"]["kind"] == kind
    assert not list(tmp_path.glob("*.html"))
