"""``omnigraph explore`` as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from listening import LISTENING


@pytest.mark.usefixtures("processes")
def test_it_serves_until_ctrl_c(story_graph: tuple[Path, dict[str, str]]) -> None:
    """The address is printed at once, also to a pipe; Ctrl-C ends it and is not a failure."""
    with subprocess.Popen(
        [*LISTENING, "explore", str(story_graph[0]), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        found: dict[str, Any] = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"{found['url']}api/about", timeout=60) as reply:
            assert json.loads(reply.read())["name"] == story_graph[0].name
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "Traceback" not in errors
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(found["url"], timeout=60)
