"""The commands on a real S3 server: the store is named by the place, options and environment."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from program_runs import Og


def test_a_graph_on_s3(og: Og, folder: Path, s3_store: Any, monkeypatch: Any) -> None:
    """From init to cleanup, with the options that reach the store; no secret is told."""
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
    told = og("info").out + og("info", "--json").out
    assert uri in told
    secret = next(value for key, value in s3_store.storage_options.items() if "secret" in key)
    assert secret not in told


def test_the_environment_reaches_the_store(
    og: Og, folder: Path, s3_store: Any, monkeypatch: Any
) -> None:
    """Without an option and a file; who is refused, and what does not answer, is told as such."""
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
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        assert og("tables", status=1).err.startswith("storage_error: ")
