"""The guide through the package graph, with all packages of a Debian machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
LISTS = Path("/var/lib/apt/lists")
RELEASE = "*_debian_dists_bookworm_main_binary-amd64_Packages*"
SECURITY = "*_bookworm-security_main_binary-amd64_Packages*"


@pytest.mark.spark
@pytest.mark.slow
def test_all_packages(tmp_path: Path) -> None:
    """What the guide says of a part of the lists holds for the whole ones."""
    found = [next(LISTS.glob(pattern), None) for pattern in (RELEASE, SECURITY)]
    if None in found:
        pytest.skip("this machine has no package lists of Debian 12")
    guide = (ROOT / "docs" / "spark-debian.md").read_text()
    code = "".join(re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL))
    code, changed = re.subn(
        r"^release, security = .*$", f"release, security = map(Path, {list(map(str, found))})",
        code, flags=re.MULTILINE,
    )  # fmt: skip
    assert changed == 1
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "guide.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "guide.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    read = re.search(r"of ([\d,]+) rows loaded", done.stdout)
    assert read is not None
    assert int(read[1].replace(",", "")) > 400_000
