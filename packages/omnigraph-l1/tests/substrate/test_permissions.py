"""Local files that another user must not touch: the texts, and what is silent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ._support import create, elsewhere, files, head

NOBODY = 65534
DENIED = "Permission denied (os error 13)"

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        os.name != "posix" or os.geteuid() != 0, reason="only root can become another user"
    ),
]

# Everything is imported while we are root: nobody may not even read the interpreter's files.
BECOME_NOBODY = """
import json, os
from datetime import timedelta
create("memory://warm", "a").to_table(filter="x = 1")
os.setgroups([]); os.setgid(65534); os.setuid(65534)
def told(call):
    failed = failure(call)
    return [failed.type, failed.text]
root = sys.argv[1]
"""


@pytest.fixture
def open_location() -> Iterator[Path]:
    """A folder that every user can look into (those of pytest are its user's alone)."""
    with tempfile.TemporaryDirectory() as location:
        Path(location).chmod(0o755)
        yield Path(location)


def test_every_write_is_denied(open_location: Path) -> None:
    """Without the right to write, each change is an OSError "LanceError(IO): …Permission denied
    (os error 13)…", and nothing is changed; reading goes on.
    """
    dataset = create(open_location / "t", "a", "b")
    before = files(open_location)
    code = """
ds = lance.dataset(root + "/t")
print(json.dumps([
    told(lambda: append(ds, "z")),
    told(lambda: delete(ds, "a")),
    told(lambda: upsert(ds, "a")),
    told(lambda: ds.update_config({"k": "1"})),
    told(lambda: restore(ds, 1)),
    told(lambda: ds.create_branch("x")),
    told(lambda: ds.tags.create("t", 1)),
    told(lambda: create(root + "/new", "a")),
]))
"""
    for type_, text in elsewhere(BECOME_NOBODY + code, open_location):
        assert type_ == "OSError"
        assert text.startswith("LanceError(IO): ")
        assert DENIED in text
    assert files(open_location) == before
    assert head(dataset) == (1, "a b")


def test_a_place_that_cannot_be_listed_is_denied(open_location: Path) -> None:
    """A dataset whose _versions cannot be listed: ValueError "LanceError(IO): Generic
    LocalFileSystem error: Unable to walk dir: … Permission denied" from open.
    """
    create(open_location / "t", "a")
    (open_location / "t" / "_versions").chmod(0o700)
    code = "print(json.dumps(told(lambda: lance.dataset(root + '/t'))))"
    type_, text = elsewhere(BECOME_NOBODY + code, open_location)
    assert type_ == "ValueError"
    assert text.startswith("LanceError(IO): Generic LocalFileSystem error: Unable to walk dir: ")
    assert DENIED in text


def test_files_that_cannot_be_read_are_denied(open_location: Path) -> None:
    """A manifest that cannot be read: ValueError from open; data: ArrowInvalid from a scan; both
    "LanceError(IO): … Permission denied (os error 13)".
    """
    for name, folder in (("manifest", "_versions"), ("data", "data")):
        create(open_location / name, "a")
        for path in (open_location / name / folder).iterdir():
            path.chmod(0o600)
    code = """
print(json.dumps([
    told(lambda: lance.dataset(root + "/manifest")),
    told(lambda: rows(lance.dataset(root + "/data"))),
]))
"""
    (opening, scanning) = elsewhere(BECOME_NOBODY + code, open_location)
    assert opening[0] == "ValueError"
    assert opening[1].startswith("LanceError(IO): Generic N/A error: LanceError(IO): ")
    assert scanning[0] == "ArrowInvalid"
    assert scanning[1].startswith("External error: LanceError(IO): ")
    assert DENIED in opening[1]
    assert DENIED in scanning[1]


def test_a_cleanup_that_is_denied_does_not_raise(open_location: Path) -> None:
    """cleanup_old_versions without the right to delete raises nothing: failed_deletes counts."""
    dataset = create(open_location / "t", "a")
    dataset.update_config({"k": "1"})
    before = files(open_location)
    code = """
stats = lance.dataset(root + "/t").cleanup_old_versions(older_than=timedelta(0))
print(json.dumps([stats.old_versions, stats.failed_deletes]))
"""
    _, failed = elsewhere(BECOME_NOBODY + code, open_location)
    assert failed > 0
    assert files(open_location) == before
