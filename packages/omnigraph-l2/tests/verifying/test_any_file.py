"""Any file of a repository is lost, or cut short: what nothing is said about can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sizes import commit_seed, sized

from omnigraph_l2 import Repository
from omnigraph_l2.errors import CorruptRepository
from omnigraph_l2.reports import Severity

_EVERY = sized(15, 1)
"""Of the files of one kind, which lie next to each other; at other commits it is other ones."""


def _shown(uri: str) -> dict[str, Any]:
    """Read all that branches and tags show."""
    with Repository.open(uri) as repo:
        moments = {each.name: {"branch": each.name} for each in repo.branches.list()}
        moments |= {f"tag {each.name}": {"tag": each.name} for each in repo.tags.list()}
        found: dict[str, Any] = {"moments": sorted(moments)}
        for name, moment in moments.items():
            snapshot = repo.snapshot(**moment)
            found[name] = snapshot.commit
            for key in snapshot.tables:
                found[f"{name} {key}"] = snapshot.read(key).sort_by("id").to_pylist()
    return found


def _is_reported(uri: str) -> bool:
    try:
        repo = Repository.open(uri)
    except CorruptRepository:
        return True
    with repo:
        findings = repo.verify().findings
    return any(each.severity is not Severity.INFO for each in findings)


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_what_nothing_is_said_about_can_be_read(repo: Repository, how: str) -> None:
    """Silence means that every branch and tag shows what it showed; nothing ends bare."""
    uri = repo.uri
    repo.close()
    before = _shown(uri)
    files = [path for path in Path(uri).rglob("*") if path.is_file()]
    files.sort(key=lambda path: (path.parent.name, path))
    if how == "gone":
        # Who removes the document of a branch or a tag has deleted it.
        names = Path(uri, "_refs")
        files = [path for path in files if names not in path.parents]
    reported = 0
    for path in files[commit_seed() % _EVERY :: _EVERY]:
        data = path.read_bytes()
        if how == "gone":
            path.unlink()
        else:
            path.write_bytes(data[: len(data) // 2])
        try:
            if _is_reported(uri):
                reported += 1
            else:
                assert _shown(uri) == before, path
        finally:
            path.write_bytes(data)
    assert reported, "no damage was found: the proof is empty"
    assert _shown(uri) == before
