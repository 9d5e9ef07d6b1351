"""A name of a ref becomes one file name, and comes back from it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from omnigraph_l1 import JsonRefs
from omnigraph_l1.errors import InvalidName
from omnigraph_testing.contracts.refs import ref_names

Folder = Callable[[], Path]


@pytest.fixture(scope="module")
def new_folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Make an empty folder for each example."""
    numbers = itertools.count()
    top = tmp_path_factory.mktemp("refs")

    def make() -> Path:
        folder = top / str(next(numbers))
        folder.mkdir()
        return folder

    return make


def files(folder: Path) -> list[str]:
    """Name the files of refs in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.name not in {".lock", ".side"})


@given(st.sets(ref_names(), min_size=1, max_size=4))
def test_each_name_has_a_file_and_comes_back_from_it(new_folder: Folder, names: set[str]) -> None:
    """Whatever the names: each has one file, in the folder itself, and is listed as it was."""
    folder = new_folder()
    refs = JsonRefs.open(folder, durability="none")
    for name in names:
        refs.create(name, {"name": name})
    assert len(files(folder)) == len(names)
    again = JsonRefs.open(folder)
    assert again.names() == tuple(sorted(names))
    assert {ref.name: ref.value for ref in again.list()} == {name: {"name": name} for name in names}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), max_size=20))
def test_a_file_is_a_ref_only_under_its_own_name(new_folder: Folder, file_name: str) -> None:
    """A file is listed only as the name that would be written to this very file."""
    assume(file_name not in {"", ".", ".."})
    for candidate in (file_name, file_name + ".json"):
        folder = new_folder()
        (folder / candidate).write_text("{}")
        names = JsonRefs.open(folder).names()
        assert len(names) <= 1
        for name in names:
            other = new_folder()
            JsonRefs.open(other, durability="none").create(name, {})
            assert files(other) == [candidate]


@pytest.mark.parametrize(
    ("name", "file_name"),
    [
        ("main", "main.json"),
        ("feature/x", "feature%2Fx.json"),
        ("100%", "100%25.json"),
        ("a%2Fb", "a%252Fb.json"),
        ("a\\b", "a%5Cb.json"),
        ("ü 人", "ü 人.json"),
    ],
)
def test_the_format(tmp_path: Path, name: str, file_name: str) -> None:
    """The file names are those of FORMAT.md."""
    JsonRefs.open(tmp_path).create(name, {})
    assert files(tmp_path) == [file_name]


@pytest.mark.parametrize("file_name", ["a", "a.JSON", "a%2fb.json", "%41.json", ".json", "..json"])
def test_foreign_files_are_no_refs(tmp_path: Path, file_name: str) -> None:
    """A file that no name is encoded as is not a ref."""
    (tmp_path / file_name).write_text("{}")
    assert JsonRefs.open(tmp_path).names() == ()


def test_the_longest_name(tmp_path: Path) -> None:
    """A file name has 255 bytes at most, counted after encoding; the error says how many it has."""
    refs = JsonRefs.open(tmp_path)
    refs.create("x" * 250, {})
    refs.create("人" * 83, {})
    for name in ("x" * 251, "人" * 84, "/".join("x" * 70)):
        with pytest.raises(InvalidName, match="255"):
            refs.create(name, {})
