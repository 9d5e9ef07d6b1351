"""The examples of docs/testing/wrappers.md are run as a project of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph_testing

PAGE = Path(__file__).parents[4] / "docs" / "testing" / "wrappers.md"

pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="the documentation is not part of the distribution"
)


def test_the_examples_of_the_documentation_pass(tmp_path: Path) -> None:
    """Every Python example on the page is part of one test module, and all its tests pass."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "test_examples.py").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "PYTEST" not in name},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert re.search(r"^3 passed in", done.stdout, re.MULTILINE), done.stdout


def test_every_effect_is_on_the_page() -> None:
    """Whoever adds an effect says what it is without HTTP."""
    page = PAGE.read_text(encoding="utf-8")
    values = [getattr(omnigraph_testing, name) for name in omnigraph_testing.__all__]
    effects = [
        value.__name__
        for value in values
        if isinstance(value, type)
        and issubclass(value, omnigraph_testing.Effect)
        and value not in (omnigraph_testing.Effect, omnigraph_testing.Hold)
    ]
    assert len(effects) == 11
    assert [name for name in effects if f"`{name}(" not in page] == []
