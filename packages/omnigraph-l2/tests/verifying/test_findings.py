"""Each kind of damage, done to a real repository, is found as what it is, and nothing else is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from damages import DAMAGE, INFO, WARNING, dangle, drop_actor, lose_file, repeat_id
from damagework import COMPANY, PERSON, data_files, filled, kinds, later

from omnigraph_l2 import Repository
from omnigraph_l2.errors import InvalidRequest, TransactionClosed, UnknownTable


def test_a_sound_repository(repo: Repository) -> None:
    """Nothing is found, everything was looked at, and nothing was written."""
    before = {path: path.stat().st_mtime_ns for path in Path(repo.uri).rglob("*")}
    report = repo.verify(dangling_edges=True, values=True)
    assert report.findings == ()
    assert report.ok
    assert report.checked["branches"] == 2
    assert report.checked["commits"] >= 8
    assert report.checked["tags"] == report.checked["runs"] == 1
    assert report.checked["table versions"] == 6
    assert "nothing wrong" in str(report)
    assert {path: path.stat().st_mtime_ns for path in Path(repo.uri).rglob("*")} == before


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_as_what_it_is(repo: Repository, name: str) -> None:
    """Exactly that is found, with its severity, what is meant, and what to do."""
    damage, expected = DAMAGE[name]
    damage(repo)
    report = repo.verify(dangling_edges=True)
    assert [(each.severity, each.kind) for each in report.findings] == expected, str(report)
    assert report.ok == all(severity is INFO for severity, _ in expected)
    for each in report.findings:
        assert each.subject
        assert each.detail
        assert each.remedy
        assert each.kind in str(report)


def test_a_copy_elsewhere(repo: Repository, tmp_path: Path) -> None:
    """Main is whole; what is on branches is told to be moved, and nothing of it is removed."""
    repo.close()
    copy = shutil.copytree(repo.uri, tmp_path / "copy")
    with Repository.open(copy) as moved:
        assert kinds(moved.verify(dangling_edges=True)) == ["moved"] * 3
        assert later(moved).repair(dry_run=False).actions == ()


def test_the_document_has_every_kind() -> None:
    """A kind that is found is explained, and one that is explained can be found."""
    text = (Path(__file__).parents[4] / "docs" / "operations.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith(("| error", "| warn", "| info"))]
    told = {word for row in rows for word in re.findall(r"`([a-z-]+)`", row.split("|")[2])}
    found = {kind for _, expected in DAMAGE.values() for _, kind in expected}
    assert found | {"moved"} == told


def test_several_at_once(repo: Repository) -> None:
    """One broken thing hides no other; the worst comes first."""
    names = ["a unique value twice", "a native branch of the dead", "a pointer at another commit"]
    names += ["an actor is lost", "a data file is gone", "a version of a table is gone"]
    for name in names:
        DAMAGE[name][0](repo)
    expected = {one for name in names for one in DAMAGE[name][1]}
    found = [(each.severity, each.kind) for each in repo.verify().findings]
    assert set(found) == expected
    assert found[-1][0] is WARNING


def test_only_some_tables(repo: Repository) -> None:
    """Others are not looked at."""
    lose_file(repo)
    assert repo.verify(tables=[PERSON]).ok
    assert kinds(repo.verify(tables=[COMPANY])) == ["data-unreadable"]
    with pytest.raises(UnknownTable):
        repo.verify(tables=["node:Nope"])
    with pytest.raises(InvalidRequest):
        repo.verify(tables=PERSON)


def test_what_is_not_asked_for(repo: Repository) -> None:
    """Ids and ends of edges are read only where that is wanted."""
    repeat_id(repo)
    dangle(repo)
    assert repo.verify(duplicates=False).ok
    assert kinds(repo.verify()) == ["duplicate-id"]


def test_a_value_in_the_middle_of_a_file(repo: Repository) -> None:
    """Reading everything finds what reading a row does not."""
    with repo.transaction() as tx:
        rows = [{"id": f"n{n}", "name": "x" * 1000 + str(n)} for n in range(20_000)]
        tx.append(COMPANY, rows)
    repo.flush()
    file = data_files(repo, COMPANY)[-1]
    assert repo.verify(values=True).ok
    content = bytearray(file.read_bytes())
    content[len(content) * 6 // 10 : len(content) * 9 // 10] = b"\0" * (
        len(content) * 9 // 10 - len(content) * 6 // 10
    )
    file.write_bytes(content)
    assert kinds(repo.verify(values=True, duplicates=False)) in ([], ["data-unreadable"])


AS_NOBODY = """
import os, sys
from omnigraph_l2 import Repository
from omnigraph_l2.errors import AccessDenied
import lance, pyarrow.dataset
lance.dataset(sys.argv[1] + "/__manifest").to_table(filter="object_id = 'x'")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with Repository.open(sys.argv[1]) as repo:
    print(repo.verify(dangling_edges=True).findings)
    print([action.kind for action in repo.repair().actions])
    try:
        repo.repair(dry_run=False)
    except AccessDenied:
        print("denied")
"""


@pytest.mark.integration
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_where_only_reading_is_allowed() -> None:
    """Nothing is asked for that needs the right to write; what cannot be mended says why."""
    with tempfile.TemporaryDirectory() as location:
        Path(location).chmod(0o755)
        with filled(Path(location) / "repo") as repo:
            drop_actor(repo)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, str(Path(location) / "repo")],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "actor-missing" in done.stdout.splitlines()[0]
        assert done.stdout.splitlines()[1:] == ["['actor-missing']", "denied"], done.stderr


def test_a_closed_handle(repo: Repository) -> None:
    """Says so."""
    repo.close()
    with pytest.raises(TransactionClosed):
        repo.verify()
