"""A platform that is not supported is refused at import, in one line that names what is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from layout import PACKAGES


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize(
    "other",
    [
        "sys.platform = 'win32'",
        "sys.platform = 'cygwin'",
        "sys.maxsize = 2**31 - 1",
        "sys.version_info = (3, 10, 9)",
    ],
)
def test_another_platform_is_refused_at_import(package: str, other: str) -> None:
    """Windows, 32 bit and an old Python: before anything of theirs fails in a way of its own."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {other}; import {package}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: omnigraph-")
    assert last.endswith("needs Linux or macOS and a 64-bit Python 3.11 or later")
