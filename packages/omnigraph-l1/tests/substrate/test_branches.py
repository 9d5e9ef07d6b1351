"""Native branches: names, versions, handles, and what is recorded about them."""

from __future__ import annotations

from pathlib import Path

import lance
import pytest
from lance import LanceDataset

from ._support import (
    BRANCH_IS_THERE,
    again,
    append,
    create,
    failure,
    files,
    rows,
    versions,
)

GOOD_NAMES = ["a/b", "ä", "人", ".a", "-a", "a.", "A", "HEAD", "x.01hzy"]
BAD_NAMES = {
    "": "Ref is invalid: Branch name cannot be empty",
    "..": "Ref is invalid: Branch name cannot contain '..' or '\\'",
    "a..b": "Ref is invalid: Branch name cannot contain '..' or '\\'",
    "a\\b": "Ref is invalid: Branch name cannot contain '..' or '\\'",
    "a//b": "Ref is invalid: Branch name cannot contain consecutive '/'",
    "/a": "Ref is invalid: Branch name cannot start or end with a '/'",
    "a/": "Ref is invalid: Branch name cannot start or end with a '/'",
    "x.lock": "Ref is invalid: Branch name cannot end with '.lock'",
    "a b": "Ref is invalid: Branch segment 'a b' contains invalid characters.",
    "a:b": "Ref is invalid: Branch segment 'a:b' contains invalid characters.",
    "a%b": "Ref is invalid: Branch segment 'a%b' contains invalid characters.",
    "a@b": "Ref is invalid: Branch segment 'a@b' contains invalid characters.",
    "main": 'Ref is invalid: "main" is reserved for the default branch',
}


def test_creating_a_branch_twice_is_an_internal_error(table: LanceDataset) -> None:
    """create_branch("x") twice: the second fails with an *internal error* text ("Clone operation
    should not enter build_manifest"), not with "exists".
    """
    table.create_branch("x")
    failure(lambda: table.create_branch("x")).require(
        "OSError", "Encountered internal error.", contains=[BRANCH_IS_THERE]
    )
    assert list(table.branches.list()) == ["x"]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_names_that_a_branch_can_have(name: str, table: LanceDataset) -> None:
    """Names: letters (any script), digits, ., -, _, segments split by /."""
    branch = table.create_branch(name)
    append(branch, "n")
    assert list(table.branches.list()) == [name]
    assert rows(again(table).checkout_version((name, None))) == "a b n"
    assert rows(lance.dataset(f"{table.uri}/tree/{name}")) == "a b n"


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_a_branch_cannot_have(name: str, table: LanceDataset) -> None:
    """Refused: empty, .., //, .lock ending, spaces, main; OSError "Ref is invalid: …"."""
    failure(lambda: table.create_branch(name)).require("OSError", BAD_NAMES[name])
    assert table.branches.list() == {}


def test_a_branch_counts_on_from_its_fork_point(two: LanceDataset) -> None:
    """A branch's versions go on counting from its fork point."""
    append(again(two), "d")
    branch = again(two).create_branch("x", 2)
    assert (branch.version, versions(branch)) == (2, [2])
    assert append(branch, "n").version == 3
    assert versions(branch) == [2, 3]
    failure(lambda: again(two).checkout_version(("x", 1))).require(
        "OSError", "Dataset at path ", contains=["/tree/x/_versions/1.manifest was not found"]
    )


def test_a_handle_from_checkout_version_reports_the_root(table: LanceDataset) -> None:
    """A handle from checkout_version((branch, v)) reports the root's .uri; those of create_branch
    and of the URI tree/<branch> report the branch's.
    """
    made = table.create_branch("x")
    assert made.uri == f"{table.uri}/tree/x"
    assert lance.dataset(f"{table.uri}/tree/x").uri == f"{table.uri}/tree/x"
    assert table.checkout_version(("x", 1)).uri == table.uri
    assert table.checkout_version(("x", None)).uri == table.uri


def test_a_branch_is_two_folders_and_a_reference(table: LanceDataset) -> None:
    """A branch is tree/<b>/_versions, tree/<b>/_transactions and _refs/branches/<b>.json; no data
    is copied.
    """
    before = files(table.uri)
    table.create_branch("x")
    added = sorted(files(table.uri) - before)
    assert [name.rsplit("/", 1)[0] for name in added] == [
        "_refs/branches",
        "tree/x/_transactions",
        "tree/x/_versions",
        "tree/x/_versions",
    ]


def test_the_branch_identifier_tells_two_branches_of_one_name(table: LanceDataset) -> None:
    """Check the branch identifier (branches.list()[name]["branch_identifier"]) before a write: it
    differs between a deleted branch and the one made later under its name.
    """
    table.create_branch("x")
    first = table.branches.list()["x"]["branch_identifier"]
    table.branches.delete("x")
    table.create_branch("x")
    second = table.branches.list()["x"]["branch_identifier"]
    assert first != second
    assert [version for version, _ in first] == [version for version, _ in second] == [1]


def test_the_listing_names_parent_and_fork_point(two: LanceDataset) -> None:
    """branches.list() tells the parent branch and the version it was forked at."""
    branch = two.create_branch("x", 1)
    append(branch, "n").create_branch("y")
    listed = two.branches.list()
    found = {name: (one["parent_branch"], one["parent_version"]) for name, one in listed.items()}
    assert found == {"x": (None, 1), "y": ("x", 2)}
    assert len(listed["y"]["branch_identifier"]) == 2


def test_a_branch_with_a_child_cannot_be_deleted(table: LanceDataset) -> None:
    """Deleting a branch that another was forked from: OSError "Ref conflict error: Branch x is
    referenced by …".
    """
    table.create_branch("x").create_branch("y")
    failure(lambda: table.branches.delete("x")).require(
        "OSError", "Ref conflict error: Branch x is referenced by "
    )
    assert sorted(table.branches.list()) == ["x", "y"]


def test_deleting_a_branch_removes_its_files(table: LanceDataset) -> None:
    """branches.delete removes the reference and tree/<b>, and no other branch's files."""
    for name in ("p", "p.q", "pq"):
        table.create_branch(name)
    table.branches.delete("p")
    left = {name.split("/")[1] for name in files(table.uri) if name.startswith("tree/")}
    assert left == {"p.q", "pq"}
    assert sorted(table.branches.list()) == ["p.q", "pq"]


def test_deleting_a_branch_above_another_leaves_its_files(table: LanceDataset) -> None:
    """While a branch p/q is there, deleting p removes only the reference: what stays is a
    half-made branch; deleting p/q then removes all of it.
    """
    append(table.create_branch("p"), "n")
    append(table.create_branch("p/q"), "m")
    table.branches.delete("p")
    assert list(table.branches.list()) == ["p/q"]
    assert rows(table.checkout_version(("p/q", None))) == "a b m"
    assert rows(table.checkout_version(("p", None))) == "a b n"
    failure(lambda: table.create_branch("p")).require("OSError", "Encountered internal error.")
    table.branches.delete("p/q")
    assert rows(table.create_branch("p")) == "a b"


def test_creating_a_branch_that_is_there_can_look_like_an_unknown_version(
    two: LanceDataset,
) -> None:
    """The second text of "exists": where the branch has no version of the source's number, it is
    "Dataset at path …/tree/x/_versions/1.manifest was not found", with the new branch's path.
    """
    two.create_branch("x")
    failure(lambda: two.create_branch("x", 1)).require(
        "OSError", "Dataset at path ", contains=["/tree/x/_versions/1.manifest was not found"]
    )


def test_an_unknown_branch_is_not_found(table: LanceDataset) -> None:
    """A branch that is not there has a text for each way of asking for it."""
    failure(lambda: table.checkout_version(("x", None))).require(
        "ValueError", "Not found: ", contains=["/tree/x/_versions"]
    )
    for ask in (
        lambda: table.checkout_version(("x", 1)),
        lambda: table.create_branch("y", ("x", 1)),
    ):
        failure(ask).require(
            "OSError", "Dataset at path ", contains=["/tree/x/_versions/1.manifest was not found"]
        )
    failure(lambda: table.branches.delete("x")).require(
        "ValueError", "Ref not found error: Branch x does not exist"
    )
    failure(lambda: lance.dataset(f"{table.uri}/tree/x")).require(
        "ValueError", "Dataset at path ", contains=["/tree/x was not found"]
    )


def test_forking_an_unknown_version_is_not_found(table: LanceDataset) -> None:
    """create_branch from a version that is not there leaves nothing behind."""
    failure(lambda: table.create_branch("x", 99)).require(
        "OSError", "Dataset at path ", contains=["/_versions/99.manifest was not found"]
    )
    assert not (Path(table.uri) / "tree").exists()


def test_branches_of_one_name_in_two_tables_are_unrelated(tmp_path: Path) -> None:
    """A branch of one name in two datasets has two identifiers."""
    found = []
    for name in ("one", "other"):
        dataset = create(tmp_path / name, "a")
        dataset.create_branch("x")
        found.append(dataset.branches.list()["x"]["branch_identifier"])
    assert found[0] != found[1]


def test_deleting_a_branch_below_main_deletes_the_whole_dataset(tmp_path: Path) -> None:
    """Why no name of ours begins with the segment ``main``. Elsewhere in a name it does no harm."""
    for name, is_fatal in (("main/x", True), ("x/main", False), ("mainx", False)):
        dataset = create(tmp_path / name.replace("/", "-"), "a")
        dataset.create_branch(name)
        dataset.branches.delete(name)
        assert Path(dataset.uri, "_versions").exists() is not is_fatal
