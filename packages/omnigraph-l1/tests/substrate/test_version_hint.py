"""latest_version_hint.json on the local disk: written by each commit, believed by nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lance import LanceDataset

from ._support import again, append, failure, head, manifest

CONTENTS = {
    "missing": None,
    "empty": b"",
    "torn": b'{"ver',
    "zeros": bytes(13),
    "too low": b'{"version":1}',
    "too high": b'{"version":9}',
    "no number": b'{"version":"x"}',
}


def _hint(dataset: LanceDataset) -> Path:
    return Path(dataset.uri) / "_versions" / "latest_version_hint.json"


def _put(dataset: LanceDataset, content: bytes | None) -> None:
    if content is None:
        _hint(dataset).unlink()
    else:
        _hint(dataset).write_bytes(content)


@pytest.mark.parametrize("what", CONTENTS)
def test_the_hint_is_not_believed_and_is_mended(what: str, two: LanceDataset) -> None:
    """The hint may be missing, torn, or point too low or too high: the newest version is found
    all the same, by open, checkout_latest and commits; the next commit mends the hint.
    """
    assert json.loads(_hint(two).read_bytes()) == {"version": 2}
    append(two, "d")
    _put(two, CONTENTS[what])
    assert again(two).version == 3
    older = again(two, 1)
    assert older.latest_version == 3
    older.checkout_latest()
    assert older.version == 3
    append(again(two, 2), "e")
    assert head(two) == (4, "a b c d e")
    assert json.loads(_hint(two).read_bytes()) == {"version": 4}


@pytest.mark.parametrize("what", CONTENTS)
def test_the_hint_does_not_help_past_a_torn_version(what: str, two: LanceDataset) -> None:
    """Nor does it lead to the last whole version where the newest is torn."""
    append(two, "d")
    _put(two, CONTENTS[what])
    manifest(two.uri, 3).write_bytes(b"")
    failure(lambda: again(two)).require("ValueError", "LanceError(IO): ")


def test_a_gap_in_the_versions_does_no_harm(two: LanceDataset) -> None:
    """A version missing in the middle, with a hint below it, hides nothing above."""
    append(two, "d")
    manifest(two.uri, 2).unlink()
    _put(two, b'{"version":1}')
    assert head(two) == (3, "a b c d")
