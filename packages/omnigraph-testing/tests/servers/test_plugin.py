"""The fixtures in runs of pytest of their own, as a project elsewhere would have them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph_testing import start_s3

HEAVY = [
    "attr",
    "lance",
    "pyarrow",
    "obstore",
    "asyncio",
    "boto3",
    "moto",
    "ssl",
    "multiprocessing",
]

IMPORT_PLUGIN = """
import json, sys
import pytest
before = set(sys.modules)
import omnigraph_testing.plugin
print(json.dumps(sorted(set(sys.modules) - before)))
"""

USES = """
import os, pathlib
def test_one(s3_store):
    s3_store.obstore().put("x", b"1")
    pathlib.Path(os.environ["SEEN"], s3_store.prefix).touch()
    pathlib.Path(os.environ["SEEN"], "at-" + s3_store.endpoint.rpartition(":")[2]).touch()
"""


def run_pytest(
    directory: Path, *arguments: str, autoload: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest there, with no plugin but ours, or with all that are installed."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "OMNIGRAPH")) and name != "CI"
    }
    if not autoload:  # other plugins take longer to import than these runs take
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        arguments = ("-p", "omnigraph_testing.plugin", *arguments)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments],
        cwd=directory,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_importing_the_plugin_costs_next_to_nothing() -> None:
    """Nothing heavy is imported by a run that uses no fixture of ours."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_PLUGIN], capture_output=True, check=True, timeout=60
    )
    added = json.loads(done.stdout)
    assert "omnigraph_testing.plugin" in added
    assert not [name for name in added if name.partition(".")[0] in HEAVY]
    ours = [name for name in added if name.startswith("omnigraph_testing.")]
    assert ours == ["omnigraph_testing.plugin"]


TELLS_MODULES = """
import json, os, pathlib, sys

def pytest_unconfigure():
    pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(sorted(sys.modules)))
"""


def test_a_plain_run_imports_three_modules_more_than_one_without_the_plugin(tmp_path: Path) -> None:
    """Two runs of one test, as pytest finds the plugin itself, and with the plugin left out.

    Both are without hypothesis' own plugin: it imports hypothesis at the end of every run.
    """
    (tmp_path / "conftest.py").write_text(TELLS_MODULES)
    (tmp_path / "test_plain.py").write_text("def test():\n    pass\n")
    imported = []
    for number, arguments in enumerate([(), ("-p", "no:omnigraph_testing")]):
        seen = tmp_path / f"seen-{number}"
        done = run_pytest(
            tmp_path, "-p", "no:hypothesispytest", *arguments, autoload=True, SEEN=str(seen)
        )
        assert "1 passed" in done.stdout, done.stdout
        imported.append(set(json.loads(seen.read_text())))
    with_it, without = imported
    assert with_it - without == {
        "omnigraph_testing",
        "omnigraph_testing.plugin",
    }
    assert without - with_it == set()


def test_the_server_is_chosen_by_option_environment_or_ini(tmp_path: Path) -> None:
    """The option outranks the environment, which outranks the ini setting."""
    (tmp_path / "test_uses.py").write_text(
        "def test(omnigraph_s3_server):\n    assert omnigraph_s3_server.kind.value == 'moto'\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nomnigraph_s3 = from-ini\n")
    by_ini = run_pytest(tmp_path)
    assert "the S3 server cannot be 'from-ini'" in by_ini.stdout
    by_environment = run_pytest(tmp_path, OMNIGRAPH_S3="from-environment")
    assert "the S3 server cannot be 'from-environment'" in by_environment.stdout
    by_option = run_pytest(tmp_path, "--omnigraph-s3=moto", OMNIGRAPH_S3="from-environment")
    assert "1 passed" in by_option.stdout, by_option.stdout


def test_workers_of_xdist_share_one_server_and_no_prefix(tmp_path: Path) -> None:
    """Four tests on two workers: one endpoint, four prefixes."""
    seen = tmp_path / "seen"
    seen.mkdir()
    for number in range(4):
        (tmp_path / f"test_uses{number}.py").write_text(USES)
    done = run_pytest(tmp_path, "-p", "xdist", "-n2", "--omnigraph-s3=moto", SEEN=str(seen))
    assert "4 passed" in done.stdout, done.stdout
    names = [path.name for path in seen.iterdir()]
    assert len([name for name in names if name.startswith("at-")]) == 1
    assert len(names) == 5


@pytest.mark.parametrize(
    ("arguments", "ini", "outcome"),
    [
        ([], "", "1 error"),
        (["--omnigraph-skip-without-s3"], "", "1 skipped"),
        ([], "omnigraph_skip_without_s3 = true", "1 skipped"),
    ],
)
def test_without_a_server_tests_fail_unless_a_project_chose_to_skip(
    tmp_path: Path, arguments: list[str], ini: str, outcome: str
) -> None:
    """The reason names what is missing and how to get it."""
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    (tmp_path / "test_uses.py").write_text("def test(s3_store):\n    pass\n")
    (tmp_path / "conftest.py").write_text(
        "import sysconfig\nsysconfig.get_path = lambda name: 'nowhere'\n"
    )
    done = run_pytest(tmp_path, *arguments, PATH="")
    assert outcome in done.stdout, done.stdout
    assert "the program 'weed' was not found" in done.stdout
    assert "omnigraph-testing[s3]" in done.stdout


def test_a_server_that_runs_already_is_used(tmp_path: Path) -> None:
    """Its endpoint is an option, its credentials are in the usual environment variables."""
    (tmp_path / "test_uses.py").write_text(
        "def test(faulty_s3, s3_store, omnigraph_s3_server):\n"
        "    assert omnigraph_s3_server.kind is None\n"
        "    assert s3_store.bucket == 'mine'\n"
        "    faulty_s3.obstore().put('x', b'1')\n"
        "    assert bytes(s3_store.obstore().get('x').bytes()) == b'1'\n"
    )
    with start_s3("moto") as server:
        arguments = (f"--omnigraph-s3-endpoint={server.endpoint}", "--omnigraph-s3-bucket=mine")
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        done = run_pytest(tmp_path, *arguments, **keys)
        assert "1 passed" in done.stdout, done.stdout
        without = run_pytest(tmp_path, *arguments, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        assert "AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set" in without.stdout
    gone = run_pytest(tmp_path, *arguments, **keys)
    assert "Check that it listens there" in gone.stdout, gone.stdout


def test_an_interrupted_run_leaves_no_server(tmp_path: Path) -> None:
    """SIGINT in the middle of a test: pytest ends, and the server with it."""
    (tmp_path / "test_waits.py").write_text(
        "def test(omnigraph_s3_server):\n"
        "    print('SERVER', omnigraph_s3_server.pid, flush=True)\n"
        "    import threading; threading.Event().wait(60)\n"
    )
    # A run that was started in the background ignores SIGINT, and its children would too.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    pytest_main = f"{listening}; import sys, pytest; sys.exit(pytest.main())"
    with subprocess.Popen(
        [sys.executable, "-c", pytest_main, "-s", "--omnigraph-s3=moto"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        pid = next(int(line.split()[-1]) for line in run.stdout if "SERVER" in line)
        assert Path(f"/proc/{pid}").exists()
        run.send_signal(signal.SIGINT)
        rest = run.stdout.read()
    assert "KeyboardInterrupt" in rest
    assert not Path(f"/proc/{pid}").exists()


def test_faulty_s3_needs_no_configuration(tmp_path: Path) -> None:
    """A project that has the package installed asks for the fixture, and that is all."""
    (tmp_path / "test_uses.py").write_text(
        "import lance, pyarrow, pytest\n"
        "from omnigraph_testing import Answer, Rule\n"
        "def test(faulty_s3):\n"
        "    rule = faulty_s3.inject(Rule(Answer(503), 'PUT', times=1))\n"
        "    lance.write_dataset(pyarrow.table({'a': [1]}), faulty_s3.uri('t'),\n"
        "                        storage_options=faulty_s3.storage_options)\n"
        "    assert rule.fired == 1\n"
    )
    done = run_pytest(tmp_path, "--omnigraph-s3=moto", "-W", "error", autoload=True)
    assert "1 passed" in done.stdout, done.stdout
