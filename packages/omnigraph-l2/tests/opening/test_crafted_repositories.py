"""Crafted repositories: nothing outside of the root is read, changed or removed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import lance
import pytest
from small_graph import PERSON, SCHEMA, append

from omnigraph_l2 import Repository
from omnigraph_l2.errors import CorruptRepository, OmniGraphError

SECRET = "secret"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Another repository of the same user, and files, which the crafted one refers to."""
    location = tmp_path / "outside"
    with Repository.init(location / "repo", SCHEMA, durability="none") as repo:
        append(repo, SECRET)
        repo.branches.create("hidden")
        append(repo, "hidden", branch="hidden")
    (location / "empty").mkdir()
    (location / "file").write_bytes(b"precious")
    return location


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a branch that has written, and an index."""
    root = tmp_path / "crafted"
    with Repository.init(root, SCHEMA, durability="none") as repo:
        append(repo, "ann", "bob")
        repo.branches.create("side")
        append(repo, "cat", branch="side")
        repo.optimize()
        repo.tags.create("v1")
    return root


def _table(root: Path) -> Path:
    with Repository.open(root, durability="none") as repo:
        return root / repo.snapshot().tables[PERSON].table_path


def _same_table(root: Path, outside: Path) -> Path:
    """Return the table of the same type outside: its path is the same in each repository."""
    return outside / "repo" / _table(root).relative_to(root)


def _replace(path: Path, target: Path) -> None:
    """Put a link in the place of a file or folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _only(folder: Path, pattern: str) -> Path:
    return min(folder.glob(pattern))


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _clone(root: Path, outside: Path) -> None:
    """Put a shallow clone in the place of a table: its version names files outside."""
    mine = _table(root)
    shutil.rmtree(mine)
    lance.dataset(str(_same_table(root, outside))).shallow_clone(str(mine), 2)


CRAFTS: dict[str, Callable[[Path, Path], object]] = {
    "table": lambda root, out: _replace(_table(root), _same_table(root, out)),
    "nodes": lambda root, out: _replace(root / "nodes", out / "repo/nodes"),
    "catalog": lambda root, out: _replace(root / "__manifest", out / "repo/__manifest"),
    "log": lambda root, out: _replace(
        root / "_graph_commits.lance", out / "repo/_graph_commits.lance"
    ),
    "shallow clone": _clone,
    "data folder": lambda root, out: _replace(
        _table(root) / "data", _same_table(root, out) / "data"
    ),
    "data file": lambda root, out: _replace(
        _only(_table(root) / "data", "*"), _only(_same_table(root, out) / "data", "*")
    ),
    "data pipe": lambda root, _: _pipe(_only(_table(root) / "data", "*")),
    "versions": lambda root, out: _replace(
        _table(root) / "_versions", _same_table(root, out) / "_versions"
    ),
    "branch folder": lambda root, out: _replace(
        _only(_table(root) / "tree", "*"), _only(_same_table(root, out) / "tree", "*")
    ),
    "branch data": lambda root, out: _replace(
        _only(_table(root) / "tree", "*") / "data", out / "empty"
    ),
    "index": lambda root, out: _replace(_only(_table(root) / "_indices", "*/*"), out / "file"),
    "pointers": lambda root, out: _replace(root / "_refs/branches", out / "repo/_refs/branches"),
    "pointer": lambda root, out: _replace(
        root / "_refs/branches/main.json", out / "repo/_refs/branches/main.json"
    ),
    "pointer pipe": lambda root, _: _pipe(root / "_refs/branches/side.json"),
    "pointer lock": lambda root, out: _replace(root / "_refs/branches/.lock", out / "file"),
    "pointer lock pipe": lambda root, _: _pipe(root / "_refs/branches/.lock"),
    "refs": lambda root, out: _replace(root / "_refs", out / "repo/_refs"),
    "leases": lambda root, out: _replace(root / "_refs/leases", out / "empty"),
    "leases side": lambda root, out: _replace(root / "_refs/leases/.side", out / "repo/_refs/tags"),
    "turns": lambda root, out: _replace(root / "_turn", out / "empty"),
    "turn locks": lambda root, out: [
        _replace(each, out / "new") for each in (root / "_turn").glob(".*.lock")
    ],
}

OPERATIONS: dict[str, Callable[[Repository], object]] = {
    "read": lambda repo: repo.snapshot().read(PERSON),
    "read branch": lambda repo: repo.snapshot("side").read(PERSON),
    "find": lambda repo: repo.snapshot().find(PERSON, ["ann"]),
    "log": lambda repo: repo.log(),
    "write": lambda repo: append(repo, "dan"),
    "write branch": lambda repo: append(repo, "eve", branch="side"),
    "merge": lambda repo: repo.branches.merge("side"),
    "begin": lambda repo: repo.runs.begin(),
    "create": lambda repo: repo.branches.create("more"),
    "optimize": lambda repo: repo.optimize(),
    "verify": lambda repo: repo.verify(dangling_edges=True),
    "repair": lambda repo: repo.repair(dry_run=False),
    "delete": lambda repo: repo.branches.delete("side", force=True),
    "cleanup": lambda repo: repo.cleanup(timedelta(0), dry_run=False),
}


def _state(folder: Path) -> list[tuple[str, int, bytes]]:
    """Return names, times and contents of everything in a folder."""
    return [
        (str(each), each.lstat().st_mtime_ns, each.read_bytes() if each.is_file() else b"")
        for each in sorted(folder.rglob("*"))
    ]


@pytest.mark.parametrize("craft", CRAFTS)
def test_nothing_leads_outside(root: Path, outside: Path, craft: str) -> None:
    """Each operation is refused with a typed error, or works without what is outside."""
    CRAFTS[craft](root, outside)
    before = _state(outside)
    refused: list[OmniGraphError] = []
    for operate in OPERATIONS.values():
        try:
            with Repository.open(root, durability="none") as repo:
                result = operate(repo)
        except OmniGraphError as error:
            refused.append(error)
        else:
            assert SECRET not in str(getattr(result, "to_pylist", lambda: "")())
    assert _state(outside) == before
    assert refused, "nobody noticed"
    named = [str(error) for error in refused if isinstance(error, CorruptRepository)]
    assert any(str(root) in each for each in named)


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    """As somebody mounts it elsewhere."""
    (tmp_path / "link").symlink_to(root)
    with Repository.open(tmp_path / "link", durability="none") as repo:
        append(repo, "dan")
        assert repo.snapshot().tables[PERSON].row_count == 3
    with Repository.open(root, durability="none") as repo:
        assert repo.snapshot().tables[PERSON].row_count == 3


def test_a_pointer_that_names_a_branch_elsewhere(root: Path, outside: Path) -> None:
    """A native name is not a path that leads up."""
    path = root / "_refs/branches/side.json"
    document = json.loads(path.read_text())
    document["native_branch"] = "../../../outside/repo/__manifest/tree/x"
    path.write_text(json.dumps(document))
    assert outside.is_dir()
    with Repository.open(root, durability="none") as repo, pytest.raises(OmniGraphError):
        repo.snapshot("side").read(PERSON)
