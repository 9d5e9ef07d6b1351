"""The examples of docs/testing/faulty-s3.md are run as a project of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph_testing

PAGE = Path(__file__).parents[4] / "docs" / "testing" / "faulty-s3.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of the distribution")
def test_the_examples_of_the_documentation_pass(tmp_path: Path) -> None:
    """Every Python example on the page is part of one test module, and all its tests pass."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "test_examples.py").write_text("\n".join(blocks), encoding="utf-8")
    # Another server beside the one of this run would take longer to start than the examples take.
    environment = {"OMNIGRAPH_S3": "moto"} | {
        name: value for name, value in os.environ.items() if "PYTEST" not in name
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert re.search(r"^8 passed in", done.stdout, re.MULTILINE), done.stdout


def test_every_effect_is_on_the_page() -> None:
    """Whoever adds an effect says what clients do about it."""
    if not PAGE.exists():
        pytest.skip("the documentation is not part of the distribution")
    page = PAGE.read_text(encoding="utf-8")
    effects = [
        name
        for name in omnigraph_testing.__all__
        if isinstance(value := getattr(omnigraph_testing, name), type)
        and issubclass(value, omnigraph_testing.Effect)
        and value not in (omnigraph_testing.Effect, omnigraph_testing.Hold)
    ]
    assert len(effects) == 11
    assert [name for name in effects if f"`{name}(" not in page] == []


FAULTS = (
    "refuse the connection", "the store is down", "500, 503 SlowDown", "409", "untrue 412", "delay",
    "bandwidth", "latency", "cut before the effect", "apply, and cut the reply",
    "apply, and answer 500", "deliver twice", "truncate the request", "truncate the reply",
    "ignore conditions", "hold", "stale listing",
)  # fmt: skip


def test_each_fault_names_tests_in_which_both_clients_meet_it() -> None:
    """The table on the page is whole, and each test that it names is there, with that client."""
    if not PAGE.exists():
        pytest.skip("the documentation is not part of the distribution")
    page = PAGE.read_text(encoding="utf-8")
    table = page[page.index("| fault | pylance | obstore |") :].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()]
    assert [name for name, *_ in rows[2:]] == list(FAULTS)
    declared = re.compile(r"^def test_(\w+)\((.*?)\) -> None:", re.MULTILINE | re.DOTALL)
    tests: dict[str, str] = {}
    for module in Path(__file__).parent.glob("test_*.py"):
        tests |= dict(declared.findall(module.read_text(encoding="utf-8")))
    for _, *cells in rows[2:]:
        for cell, its_fixture in zip(cells, ("table: ", "store: |truth: "), strict=True):
            names = re.findall(r"`(\w+)`", cell)
            assert names or cell == "the same"
            missing = [name for name in names if not re.search(its_fixture, tests.get(name, ""))]
            assert missing == []
