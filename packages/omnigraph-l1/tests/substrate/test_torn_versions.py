"""A newest version file that is not whole: who fails, how, and who goes on."""

from __future__ import annotations

from collections.abc import Callable

import lance
import pytest
from lance import LanceDataset

from ._support import (
    again,
    append,
    commit_append,
    delete,
    failure,
    head,
    manifest,
    restore,
    rows,
    upsert,
)

DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (
        lambda _: b"",
        "LanceError(IO): Generic memory error: Invalid range 0..0 for object of size 0 bytes",
    ),
    "one byte": (lambda b: b[:1], "LanceError(IO): does not have sufficient data, len: 1"),
    "half": (lambda b: b[: len(b) // 2], "LanceError(IO): file size is too small"),
    "a byte short": (lambda b: b[:-1], "LanceError(IO): file size is too small"),
    "tail of zeros": (
        lambda b: b[:-20] + bytes(20),
        "LanceError(IO): failed to decode Protobuf message: ",
    ),
}


def _damage(dataset: LanceDataset, change: Callable[[bytes], bytes]) -> None:
    path = manifest(dataset.uri, 3)
    path.write_bytes(change(path.read_bytes()))


@pytest.fixture
def three(two: LanceDataset) -> LanceDataset:
    """Version 3, held by this handle."""
    return append(two, "d")


@pytest.mark.parametrize("how", DAMAGE)
def test_a_torn_newest_version_stops_opening_and_committing(how: str, three: LanceDataset) -> None:
    """An empty newest version file makes opening the latest version fail; older ones open. So
    does one that is cut short or ends in zeros; and every commit fails the same way.
    """
    change, start = DAMAGE[how]
    _damage(three, change)
    failure(lambda: lance.dataset(three.uri)).require("ValueError", start)
    failure(lambda: lance.dataset(three.uri, version=3)).require("ValueError", start)
    older = again(three, 2)
    assert rows(older) == "a b c"
    for attempt in (
        lambda ds: ds.checkout_latest(),
        lambda ds: ds.checkout_version(3),
        lambda ds: append(ds, "z"),
        lambda ds: commit_append(ds, "z"),
        lambda ds: upsert(ds, "z"),
        lambda ds: delete(ds, "a"),
        lambda ds: restore(ds, 2),
        lambda ds: ds.restore(),
    ):
        fresh = again(three, 2)
        failure(lambda: attempt(fresh)).require("OSError", start)  # noqa: B023


@pytest.mark.parametrize("how", DAMAGE)
def test_a_handle_that_holds_the_version_goes_on_reading(how: str, three: LanceDataset) -> None:
    """A handle that had opened the version before it was torn reads on, and cannot refresh."""
    change, start = DAMAGE[how]
    _damage(three, change)
    assert rows(three) == "a b c d"
    failure(three.checkout_latest).require("OSError", start)


def test_listing_versions_does_not_look_inside(three: LanceDataset) -> None:
    """latest_version and version_refs() count a torn version; versions() fails on it."""
    _damage(three, lambda b: b[:-1])
    older = again(three, 2)
    assert older.latest_version == 3
    assert [ref["version"] for ref in older.version_refs()] == [1, 2, 3]
    failure(older.versions).require(
        "RuntimeError", "Encountered corrupt file ", contains=["magic number does not match"]
    )


def test_a_version_of_zeros_opens_as_an_empty_version_zero(three: LanceDataset) -> None:
    """A newest version file that is all zeros *opens*, as version 0 without columns and rows, and
    checkout_latest goes there too; asking for it by number fails, commits fail.
    """
    _damage(three, lambda b: bytes(len(b)))
    opened = lance.dataset(three.uri)
    assert (opened.version, opened.schema.names, opened.count_rows()) == (0, [], 0)
    three.checkout_latest()
    assert three.version == 0
    failure(lambda: lance.dataset(three.uri, version=3)).require(
        "ValueError", "Version not found error: version 3 not found"
    )
    failure(lambda: commit_append(again(three, 2), "z")).require(
        "OSError",
        "Encountered internal error.",
        contains=["Dataset version 0 does not have a transaction file"],
    )


def test_a_garbled_head_of_a_version_panics(three: LanceDataset) -> None:
    """A version file whose first bytes are garbage makes Lance panic (PanicException)."""
    _damage(three, lambda b: b"\xff" * 20 + b[20:])
    failure(lambda: lance.dataset(three.uri)).require("PanicException", "range end index")


def test_a_lost_inline_transaction_refuses_rebases(three: LanceDataset) -> None:
    """With its first bytes zeroed, a version reads well, but commits over it are refused as
    incompatible with "Unknown".
    """
    _damage(three, lambda b: bytes(20) + b[20:])
    assert head(three) == (3, "a b c d")
    failure(lambda: commit_append(again(three, 2), "z")).require(
        "CommitConflictError",
        "Incompatible transaction: This Append transaction is incompatible with concurrent "
        "transaction Unknown at version 3.",
    )


def test_a_whole_version_ends_with_the_magic(three: LanceDataset) -> None:
    """A whole version file ends with LANC."""
    assert manifest(three.uri, 3).read_bytes().endswith(b"LANC")


def test_a_version_that_is_renamed_is_out_of_the_way(three: LanceDataset) -> None:
    """A torn version that is set aside by a longer name is as if it had never been: the one
    before it is the newest, and the next commit takes the number again.
    """
    _damage(three, lambda _: b"")
    torn = manifest(three.uri, 3)
    torn.rename(torn.with_name(torn.name + ".torn"))
    assert head(three) == (2, "a b c")
    append(again(three), "e")
    assert head(three) == (3, "a b c e")


@pytest.mark.parametrize(
    "name", ["junk", "junk.manifest", ".tmpA1b2C3", "18446744073709551611.manifest#1"]
)
def test_other_names_among_the_versions_are_skipped(name: str, three: LanceDataset) -> None:
    """What is not named like a version is skipped."""
    (manifest(three.uri, 3).parent / name).write_bytes(b"xx")
    assert head(three) == (3, "a b c d")
