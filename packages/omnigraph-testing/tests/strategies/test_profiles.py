"""Profiles: there by themselves, chosen by name, and never in the way of a project's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = """
from hypothesis import settings
now = settings()
print(settings.get_current_profile_name(), now.max_examples, now.derandomize, now.print_blob,
      now.deadline)
"""
TEST = """
from hypothesis import settings
def test_it():
    assert (settings.get_current_profile_name(), settings().max_examples) == {expected!r}
"""


def python(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter outside of this project.

    Of the environment it has only what it needs: hypothesis knows a CI by a dozen variables.
    """
    needed = ("PATH", "HOME", "LANG")
    clean = {name: os.environ[name] for name in needed if name in os.environ}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("profile", "shown"),
    [
        ("dev", "dev 25 False True None"),
        ("ci", "ci 100 True True None"),
        ("nightly", "nightly 2000 False True None"),
    ],
)
def test_the_environment_chooses(tmp_path: Path, profile: str, shown: str) -> None:
    """``HYPOTHESIS_PROFILE`` loads one of ours as soon as hypothesis is imported."""
    done = python("-c", SHOW, cwd=tmp_path, HYPOTHESIS_PROFILE=profile)
    assert done.stdout.strip() == shown, done.stderr


def test_nothing_is_loaded_unasked(tmp_path: Path) -> None:
    """Without the variable, or with a name that only the project knows, the default stays."""
    assert python("-c", SHOW, cwd=tmp_path).stdout.startswith("default 100")
    other = python("-c", SHOW, cwd=tmp_path, HYPOTHESIS_PROFILE="theirs")
    assert other.stdout.startswith("default 100"), other.stderr


def test_the_option_chooses(tmp_path: Path) -> None:
    """``--hypothesis-profile`` finds ours with no configuration, and beats the environment."""
    (tmp_path / "test_it.py").write_text(TEST.format(expected=("nightly", 2_000)))
    done = python(
        "-m", "pytest", "-q", "--hypothesis-profile=nightly", cwd=tmp_path, HYPOTHESIS_PROFILE="dev"
    )
    assert done.returncode == 0, done.stdout


def test_a_project_keeps_its_own(tmp_path: Path) -> None:
    """What a conftest registers under one of our names, and loads, is what counts."""
    (tmp_path / "conftest.py").write_text(
        "from hypothesis import settings\n"
        "settings.register_profile('ci', max_examples=7)\n"
        "settings.load_profile('ci')\n"
    )
    (tmp_path / "test_it.py").write_text(TEST.format(expected=("ci", 7)))
    done = python("-m", "pytest", "-q", cwd=tmp_path, HYPOTHESIS_PROFILE="nightly")
    assert done.returncode == 0, done.stdout


def test_a_plain_run_does_not_pay(tmp_path: Path) -> None:
    """A pytest run that does not use hypothesis imports neither it nor pyarrow."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    heavy = {'hypothesis', 'pyarrow', 'omnigraph_testing.histories'}\n"
        "    assert not heavy & set(sys.modules)\n"
    )
    done = python("-m", "pytest", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_histories_do_not_need_hypothesis(tmp_path: Path) -> None:
    """Recording and checking import neither hypothesis nor pyarrow; strategies no pyarrow."""
    code = (
        "import sys, omnigraph_testing.histories\n"
        "print({'hypothesis', 'pyarrow'} & set(sys.modules))"
    )
    assert python("-c", code, cwd=tmp_path).stdout.strip() == "set()"
    code = "import sys, omnigraph_testing.strategies; print('pyarrow' in sys.modules)"
    assert python("-c", code, cwd=tmp_path).stdout.strip() == "False"
