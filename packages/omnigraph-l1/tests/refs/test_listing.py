"""Listing does not read again what it has read: and never gives what is not there any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph_l1 import JsonRefs, Storage
from omnigraph_l1._refs import local

_ROUNDS = 60


@pytest.fixture(params=["local", pytest.param("s3", marks=pytest.mark.integration)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A place for refs, in each kind of store."""
    if request.param == "local":
        return Storage.resolve(tmp_path / "refs")
    store = request.getfixturevalue("s3_store")
    return Storage.resolve(store.uri("refs"), store.storage_options)


def test_it_is_never_behind(place: Storage) -> None:
    """Another handle replaces, deletes and makes anew: documents of one size, also of one value."""
    lister, writer = (JsonRefs.open(place, durability="none") for _ in range(2))
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


def test_what_it_has_read_is_not_read_again(
    place: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On local disk only once it is so old that no later document can look the same."""
    lister, writer = (JsonRefs.open(place, durability="none") for _ in range(2))
    refs = [writer.create(f"ref-{number}", {"n": number}) for number in range(3)]
    backend = lister._backend
    read: list[str] = []
    real = type(backend).read

    def reading(self: object, name: str) -> object:
        read.append(name)
        return real(self, name)

    monkeypatch.setattr(type(backend), "read", reading)
    is_local = isinstance(backend, local.LocalBackend)
    for _ in range(2):
        assert lister.list() == tuple(refs)
    assert len(read) == (6 if is_local else 3)
    now = local.time.time()
    monkeypatch.setattr(local.time, "time", lambda: now + local._SETTLED_SECONDS + 1)
    read.clear()
    for _ in range(2):
        assert lister.list() == tuple(refs)
    assert len(read) == (3 if is_local else 0)
    read.clear()
    refs[1] = writer.replace(refs[1], {"n": 7})
    read.clear()
    assert lister.list() == tuple(refs)
    assert read == ["ref-1.json"]
