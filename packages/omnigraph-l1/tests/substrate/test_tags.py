"""Native tags: names, and the texts of "exists" and "unknown"."""

from __future__ import annotations

import lance
import pytest
from lance import LanceDataset

from ._support import again, append, failure, files, rows

BAD_NAMES = {
    "": "Ref is invalid: Ref cannot be empty",
    "..": "Ref is invalid: Ref cannot begin with a dot",
    "x.lock": "Ref is invalid: Ref cannot end with .lock",
    "a b": "Ref is invalid: Ref characters must be either alphanumeric, '.', '-' or '_'",
    "a/b": "Ref is invalid: Ref characters must be either alphanumeric, '.', '-' or '_'",
}


def test_a_tag_names_a_version_of_a_branch(two: LanceDataset) -> None:
    """A tag names a version, on main or on a branch, and opens it."""
    append(two.create_branch("x", 1), "n")
    two.tags.create("first", 1)
    two.tags.create("on-x", ("x", 2))
    found = {name: (tag["branch"], tag["version"]) for name, tag in two.tags.list().items()}
    assert found == {"first": (None, 1), "on-x": ("x", 2)}
    assert rows(lance.dataset(two.uri, version="first")) == "a b"
    assert rows(two.checkout_version("on-x")) == "a b n"


def test_a_tag_that_exists_is_a_conflict(table: LanceDataset) -> None:
    """A tag that exists: ValueError "Ref conflict error: tag t already exists"."""
    table.tags.create("t", 1)
    failure(lambda: table.tags.create("t", 1)).require(
        "ValueError", "Ref conflict error: tag t already exists"
    )


def test_an_unknown_tag_is_not_found(table: LanceDataset) -> None:
    """A tag that is not there: "Ref not found error: tag t does not exist", a ValueError from
    tags and lance.dataset, an OSError from checkout_version and create_branch.
    """
    start = "Ref not found error: tag t does not exist"
    for ask in (
        lambda: table.tags.delete("t"),
        lambda: table.tags.update("t", 1),
        lambda: lance.dataset(table.uri, version="t"),
    ):
        failure(ask).require("ValueError", start)
    for ask in (lambda: table.checkout_version("t"), lambda: table.create_branch("x", "t")):
        failure(ask).require("OSError", start)
    failure(lambda: table.tags.get_version("t")).require("ValueError", f"Ref not found: {start}")


def test_a_tag_of_an_unknown_version_is_refused(table: LanceDataset) -> None:
    """Tagging what is not there: ValueError "Version not found error: version main:99 …"."""
    failure(lambda: table.tags.create("t", 99)).require(
        "ValueError", "Version not found error: version main:99 does not exist"
    )
    failure(lambda: table.tags.create("t", ("x", 1))).require(
        "ValueError", "Version not found error: version x:1 does not exist"
    )


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_a_tag_cannot_have(name: str, table: LanceDataset) -> None:
    """Tag names are letters, digits, ., -, _, without /; OSError "Ref is invalid: …"."""
    failure(lambda: table.tags.create(name, 1)).require("OSError", BAD_NAMES[name])


def test_a_tag_name_beyond_ascii_breaks_the_listing(table: LanceDataset) -> None:
    """A tag name with a letter beyond ASCII is accepted, opens, and makes tags.list() of the
    dataset fail until it is deleted: the file name is escaped twice.
    """
    table.tags.create("ä", 1)
    assert "_refs/tags/%C3%A4.json" in files(table.uri)
    assert rows(table.checkout_version("ä")) == "a b"
    failure(table.tags.list).require(
        "ValueError", "Not found: ", contains=["/_refs/tags/%25C3%25A4.json"]
    )
    table.tags.delete("ä")
    assert again(table).tags.list() == {}
