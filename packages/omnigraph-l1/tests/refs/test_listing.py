"""Listing keeps what it has read, and never returns what is no longer there."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_l1 import JsonRefs, Storage

_ROUNDS = 60


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.integration)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A location for refs, in each kind of store."""
    if request.param == "local":
        return Storage.resolve(tmp_path / "refs")
    store = request.getfixturevalue("s3_store")
    return Storage.resolve(store.uri("refs"), store.storage_options)


def test_it_is_never_behind(location: Storage) -> None:
    """Another handle replaces, deletes and makes anew: documents of one size, also of one value."""
    lister, writer = (JsonRefs.open(location, durability="none") for _ in range(2))
    kept = writer.create("kept", {"n": 0})
    ref = writer.create("ref", {"n": 0})
    for number in range(_ROUNDS):
        if number % 3 == 0:
            writer.delete(ref)
            assert lister.list() == (kept,)
            ref = writer.create("ref", {"n": 0})
        else:
            ref = writer.replace(ref, {"n": number % 2})
        assert lister.list() == (kept, ref)
        assert lister.list()[1].value == ref.value
