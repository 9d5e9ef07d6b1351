"""What README's commands need and do not find is named, with what gets it."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from layout import ROOT


def run(folder: Path, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of dev.py, after something was taken away from its Python."""
    for name in ("dev.py", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    script = f"import sys; sys.argv = ['dev.py', 'demo']\n{before}\nimport dev; dev.main()"
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_that_is_too_old(tmp_path: Path) -> None:
    """The version that is needed, the one found, and the command that installs one."""
    done = run(tmp_path, "sys.version_info = (3, 8, 1)")
    assert done.returncode == 1
    assert "Python 3.11 or later is needed; this is 3.8" in done.stderr
    assert "apt-get install" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_python_without_venv(tmp_path: Path) -> None:
    """The package that brings it."""
    done = run(tmp_path, "sys.modules['ensurepip'] = None")
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_no_index_of_packages(tmp_path: Path) -> None:
    """The command that failed, after its own words, and no traceback; next time it tries again."""
    done = run(tmp_path, PIP_NO_INDEX="1")
    assert done.returncode == 1
    assert "pip" in done.stderr
    assert "package index" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / ".venv" / "ready").exists()


def test_any_python_can_read_it() -> None:
    """Python 2 refuses a file with other letters before it could say what it needs."""
    assert (ROOT / "dev.py").read_bytes().isascii()


CERTIFICATES = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "UV_SYSTEM_CERTS", "UV_NATIVE_TLS",
)  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "passed"),
    [
        ({}, {}),
        ({"PIP_CERT": "/a.pem"}, {"SSL_CERT_FILE": "/a.pem"}),
        ({"REQUESTS_CA_BUNDLE": "/a.pem"}, {"SSL_CERT_FILE": "/a.pem"}),
        ({"CURL_CA_BUNDLE": "/", "PIP_CERT": ""}, {"SSL_CERT_DIR": "/"}),
        ({"SSL_CERT_FILE": "/a.pem"}, {"REQUESTS_CA_BUNDLE": "/a.pem"}),
        ({"SSL_CERT_DIR": "/certs"}, {"REQUESTS_CA_BUNDLE": "/certs"}),
        ({"SSL_CERT_FILE": "/a.pem", "PIP_CERT": "/b.pem"}, {}),
        ({"UV_SYSTEM_CERTS": "false"}, {"UV_SYSTEM_CERTS": "false"}),
        ({"UV_NATIVE_TLS": "false"}, {"UV_SYSTEM_CERTS": None}),
    ],
)
@pytest.mark.parametrize("program", ["dev.py", "noxfile.py"])
def test_certificates_are_passed_on_to_pip_and_uv(
    tmp_path: Path, program: str, chosen: dict[str, str], passed: dict[str, str | None]
) -> None:
    """Each of the two reads variables of its own; a user sets one, and uv's own are kept."""
    expected = dict.fromkeys(CERTIFICATES) | {"UV_SYSTEM_CERTS": "true"} | chosen | passed
    show = f"import os; print({{name: os.environ.get(name) for name in {CERTIFICATES}}})"
    prepare(tmp_path, f'exec {sys.executable} -c "{show}"')
    (tmp_path / "root.pem").touch()
    shutil.copy(ROOT / "noxfile.py", tmp_path)
    script = "import sys; sys.argv = ['dev.py', 'demo']; import dev\n"
    script += "dev.SYSTEM_CERTIFICATES = [dev.HERE + '/root.pem']\n"
    if program == "noxfile.py":
        script += "import runpy, unittest.mock as m; sys.modules['nox'] = m.MagicMock()\n"
        script += f"runpy.run_path('noxfile.py'); {show}"
    else:
        script += "dev.main()"
    environment = {name: text for name, text in os.environ.items() if name not in CERTIFICATES}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment | chosen,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ast.literal_eval(done.stdout) == expected


def test_a_system_without_certificates() -> None:
    """Then uv keeps the roots that it brings."""
    script = "import dev; dev.SYSTEM_CERTIFICATES = []; dev.sys.platform = 'linux'\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}print(dev.certificates({{}}))"], cwd=ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "{}\n"


def prepare(folder: Path, nox: str) -> None:
    """Leave what dev.py has prepared before, with a line of shell as its nox."""
    for name in ("dev.py", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copy(ROOT / "constraints.txt", folder / ".venv" / "ready")
    (programs / "python").write_text(f"#!/bin/sh\n{nox}\n")
    (programs / "python").chmod(0o755)


PRESSED_WHEN_IT_HAS_STARTED = """
import signal, subprocess
signal.signal(signal.SIGINT, signal.default_int_handler)
start = subprocess.Popen.__init__
def start_and_press(*args, **how):
    start(*args, **how)
    signal.raise_signal(signal.SIGINT)
subprocess.Popen.__init__ = start_and_press
"""


def test_ctrl_c_while_it_starts(tmp_path: Path) -> None:
    """What has just begun is not left alone."""
    prepare(tmp_path, "echo ended")
    done = run(tmp_path, PRESSED_WHEN_IT_HAS_STARTED)
    assert (done.stdout, done.stderr, done.returncode) == ("ended\n", "", 0)


def test_ctrl_c(tmp_path: Path) -> None:
    """What runs ends by itself, and is waited for; there is no traceback of ours."""
    prepare(
        tmp_path,
        "trap 'sleep 1; echo tidied; exit 130' INT; echo runs; while :; do sleep 0.1; done",
    )
    # A run in the background ignores Ctrl-C, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        running = subprocess.Popen(
            [sys.executable, "dev.py", "demo"], cwd=tmp_path, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    assert running.stdout
    assert running.stdout.readline() == "runs\n"
    os.killpg(running.pid, signal.SIGINT)
    told, complained = running.communicate(timeout=30)
    assert (told, complained, running.returncode) == ("tidied\n", "", 130)
