"""Data written ahead of the commit on a branch: where it must lie to be readable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments

from ._support import DATA_IS_MISSING, again, commit, failure, files, merge, people, rows

ON_THE_BRANCH: dict[str, Callable[[str], LanceDataset | str]] = {
    "checkout_version((b, None))": lambda root: lance.dataset(root).checkout_version(("b", None)),
    "checkout_version((b, v))": lambda root: lance.dataset(root).checkout_version(("b", 1)),
    "dataset(root/tree/b)": lambda root: lance.dataset(f"{root}/tree/b"),
    "root/tree/b": lambda root: f"{root}/tree/b",
}
ON_MAIN: dict[str, Callable[[str], LanceDataset | str]] = {
    "dataset(root)": lance.dataset,
    "root": str,
}


@pytest.fixture
def root(table: LanceDataset) -> str:
    """The root of a dataset with a branch b."""
    table.create_branch("b")
    return str(table.uri)


def _new_data(root: str, before: set[str]) -> set[str]:
    return {str(Path(name).parent) for name in files(root) - before if name.endswith(".lance")}


@pytest.mark.parametrize("commit_through", ON_THE_BRANCH)
@pytest.mark.parametrize("write_through", ON_THE_BRANCH)
def test_files_staged_through_the_branch_are_its_own(
    write_through: str, commit_through: str, root: str
) -> None:
    """write_fragments through a handle on the branch (from checkout_version too, though its .uri
    is the root's) or the URI tree/<b> writes below tree/<b>; a commit through any of them reads.
    """
    before = files(root)
    written = write_fragments(people("n"), ON_THE_BRANCH[write_through](root))
    assert _new_data(root, before) == {"tree/b/data"}
    landed = commit(ON_THE_BRANCH[commit_through](root), LanceOperation.Append(written), base=1)
    assert (landed.version, rows(landed)) == (2, "a b n")
    assert rows(lance.dataset(f"{root}/tree/b")) == "a b n"
    assert rows(lance.dataset(root)) == "a b"


@pytest.mark.parametrize("commit_through", ON_THE_BRANCH)
@pytest.mark.parametrize("write_through", ON_MAIN)
def test_files_staged_under_main_are_unreadable_on_a_branch(
    write_through: str, commit_through: str, root: str
) -> None:
    """Files staged under the main URI and committed on a branch are accepted and unreadable."""
    before = files(root)
    written = write_fragments(people("n"), ON_MAIN[write_through](root))
    assert _new_data(root, before) == {"data"}
    commit(ON_THE_BRANCH[commit_through](root), LanceOperation.Append(written), base=1)
    failure(lambda: rows(lance.dataset(f"{root}/tree/b"))).require("ArrowInvalid", DATA_IS_MISSING)


@pytest.mark.parametrize("through", list(ON_THE_BRANCH)[:3])
def test_an_uncommitted_upsert_stays_on_its_branch(through: str, root: str) -> None:
    """execute_uncommitted through a handle on the branch writes below tree/<b>, its deletion
    files included, and can be committed there.
    """
    before = files(root)
    handle = ON_THE_BRANCH[through](root)
    assert isinstance(handle, LanceDataset)
    transaction, _ = merge(handle).execute_uncommitted(people("a", "n", x=7))
    assert {name.split("/")[2] for name in files(root) - before} == {"data", "_deletions"}
    assert all(name.startswith("tree/b/") for name in files(root) - before)
    landed = LanceDataset.commit(handle, transaction, max_retries=0)
    assert (landed.version, rows(landed)) == (2, "a b n")


@pytest.mark.parametrize("through", list(ON_THE_BRANCH)[:3])
def test_every_change_of_a_branch_stays_below_it(through: str, root: str) -> None:
    """Upsert, delete, compaction and index creation through a handle on a branch write nothing
    outside of tree/<b>.
    """
    before = files(root)
    handle = ON_THE_BRANCH[through](root)
    assert isinstance(handle, LanceDataset)
    merge(handle).execute(people("a", "n", x=7))
    handle.delete("id='b'")
    handle.optimize.compact_files()
    handle.create_scalar_index("id", "BTREE")
    changed = files(root) - before
    assert changed
    assert all(name.startswith("tree/b/") for name in changed)
    assert rows(lance.dataset(f"{root}/tree/b")) == "a n"
    assert rows(again(lance.dataset(root))) == "a b"
