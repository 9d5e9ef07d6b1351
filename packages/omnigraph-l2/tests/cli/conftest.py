"""The program, run in this process with its own settings and its own current folder."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cli_run import CommandResult, RunCommand
from pseudo_terminal import RunOnTerminal, run_on_terminal

(_PROGRAM,) = entry_points(group="console_scripts", name="omnigraph")
main = _PROGRAM.load()

SCHEMA = """
[nodes.Person.properties]
name = { type = "string", required = true }
age = "int32"

[edges.Knows]
source = "Person"
target = "Person"
properties.since = "date32"
"""
FILES = {
    "schema.toml": SCHEMA,
    "people.csv": "id,name,age\na,Ann,30\nb,Bob,\n",
    "knows.ndjson": '{"id": "ab", "src": "a", "dst": "b"}\n',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, with no settings in the environment."""
    location = tmp_path / "here"
    location.mkdir()
    monkeypatch.chdir(location)
    for name in (
        "OMNIGRAPH_REPO",
        "OMNIGRAPH_ACTOR",
        "OMNIGRAPH_CONFIG",
        "NO_COLOR",
        "FORCE_COLOR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMNIGRAPH_DURABILITY", "none")
    return location


@pytest.fixture
def og(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> RunCommand:
    """Run a command and check its exit status."""

    def run(*arguments: str, status: int = 0) -> CommandResult:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["omnigraph", *arguments])
        found = main()
        out, err = capfd.readouterr()
        assert found == status, out + err
        return CommandResult(found, out, err)

    return run


@pytest.fixture
def on_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> RunOnTerminal:
    """Run a command in this process with a terminal as its output."""

    def run(*arguments: str, encoding: str = "utf-8", **environ: str) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            return run_on_terminal(patch, main, arguments, encoding, environ)

    return run


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with files and a repository of people, once per session."""
    location = tmp_path_factory.mktemp("people")
    for name, text in FILES.items():
        (location / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(location)
        patch.setenv("OMNIGRAPH_REPO", str(location / "graph"))
        patch.setenv("OMNIGRAPH_DURABILITY", "none")
        for arguments in (
            ("init", "--schema", "schema.toml"),
            ("load", "node:Person", "people.csv", "edge:Knows", "knows.ndjson", "-m", "first load"),
        ):
            patch.setattr(sys, "argv", ["omnigraph", *arguments])
            assert main() == 0
    return location


@pytest.fixture
def graph(
    og: RunCommand, folder: Path, people: Path, monkeypatch: pytest.MonkeyPatch
) -> RunCommand:
    """Run a command on a copy of the repository of people."""
    shutil.copytree(people, folder, dirs_exist_ok=True)
    monkeypatch.setenv("OMNIGRAPH_REPO", str(folder / "graph"))
    return og
