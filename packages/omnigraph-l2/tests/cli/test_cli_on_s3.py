"""The commands on a real S3 server: the store is named by the location, options and environment."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from cli_run import RunCommand


def test_a_graph_on_s3(og: RunCommand, folder: Path, s3_store: Any, monkeypatch: Any) -> None:
    """From init to cleanup, with the options of the store; no secret is printed."""
    uri = s3_store.uri("cli")
    storage = [
        part for pair in s3_store.storage_options.items() for part in ("--storage", "=".join(pair))
    ]
    (folder / "schema.toml").write_text("[nodes.Person.properties]\nname = 'string'\n")
    (folder / "people.csv").write_text("id,name\na,Ann\nb,Bob\n")
    monkeypatch.delenv("OMNIGRAPH_DURABILITY")
    og("init", uri, "--schema", "schema.toml", *storage)
    monkeypatch.setenv("OMNIGRAPH_REPO", uri)
    (folder / "omnigraph.toml").write_text(
        "[storage]\n"
        + "".join(f'{key} = "{value}"\n' for key, value in s3_store.storage_options.items())
    )
    og("load", "node:Person", "people.csv", "-m", "first")
    og("branch", "create", "side")
    (folder / "more.csv").write_text("id,name\nc,Cid\n")
    og("load", "--branch", "side", "node:Person", "more.csv")
    og("merge", "side")
    assert [row["id"] for row in og("cat", "node:Person", "-c", "id").lines] == ["a", "b", "c"]
    assert og("diff", "3", "--json").document["tables"][0]["inserted"] == 3
    assert og("tables", "--json").document["tables"][0]["bytes"] > 0
    og("cleanup", "--older-than", "0s", "--yes")
    assert og("verify", "--json").document["ok"]
    og("explore", "--out", "page.html")
    assert uri in (folder / "page.html").read_text()
    result = og("info").out + og("info", "--json").out
    assert uri in result
    secret = next(value for key, value in s3_store.storage_options.items() if "secret" in key)
    assert secret not in result


def test_the_environment_reaches_the_store(
    og: RunCommand, folder: Path, s3_store: Any, monkeypatch: Any
) -> None:
    """Without options and a file; denied access and an unreachable store are reported as such."""
    for key, value in s3_store.storage_options.items():
        monkeypatch.setenv(f"AWS_{key.removeprefix('aws_').upper()}", value)
    monkeypatch.setenv("OMNIGRAPH_REPO", s3_store.uri("around"))
    assert og("tables", status=1).err.startswith("repository_not_found: ")
    og("init")
    assert og("tables", "--json").document["tables"] == []
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    refused = og("tables", "--json", status=1).err
    assert json.loads(refused)["error"]["kind"] == "access_denied"
    assert "hunter2" not in refused
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{unused.getsockname()[1]}")
        assert og("tables", status=1).err.startswith("store_unavailable: ")
