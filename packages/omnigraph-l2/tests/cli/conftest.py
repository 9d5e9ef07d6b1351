"""The program, run in this process: with the settings of a test, in a folder of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from omnigraph_l2._cli.program import run

sys.path.insert(0, str(Path(__file__).parent))

from program_runs import Og, Ran

SCHEMA = """
[nodes.Person.properties]
name = { type = "string", required = true }
age = "int32"

[edges.Knows]
source = "Person"
target = "Person"
properties.since = "date32"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with no settings around."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    for name in (
        "OMNIGRAPH_REPO",
        "OMNIGRAPH_ACTOR",
        "OMNIGRAPH_CONFIG",
        "NO_COLOR",
        "FORCE_COLOR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMNIGRAPH_DURABILITY", "none")
    return place


@pytest.fixture
def og(folder: Path, capfd: pytest.CaptureFixture[str]) -> Og:
    """Run a command, expecting an exit status."""

    def ran(*typed: str, status: int = 0) -> Ran:
        capfd.readouterr()
        found = run(typed)
        out, err = capfd.readouterr()
        assert found == status, out + err
        return Ran(found, out, err)

    return ran


@pytest.fixture
def graph(og: Og, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Og:
    """The same, with a repository of people that settings name."""
    monkeypatch.setenv("OMNIGRAPH_REPO", str(folder / "graph"))
    (folder / "schema.toml").write_text(SCHEMA)
    (folder / "people.csv").write_text("id,name,age\na,Ann,30\nb,Bob,\n")
    (folder / "knows.ndjson").write_text('{"id": "ab", "src": "a", "dst": "b"}\n')
    og("init", "--schema", "schema.toml")
    og("load", "node:Person", "people.csv", "edge:Knows", "knows.ndjson", "-m", "first load")
    return og
