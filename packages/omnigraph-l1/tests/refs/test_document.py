"""A document of a ref comes back as it was written; anything else is CorruptRef."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import JsonRefs
from omnigraph_l1.errors import CorruptRef
from omnigraph_testing.contracts.refs import ref_values

REMEMBERED = 16
"""So many writes before the last one are known."""


@given(st.lists(ref_values(), min_size=1, max_size=REMEMBERED + 5))
def test_a_document_remembers_the_writes_before_it(values: list[dict[str, Any]]) -> None:
    """Each document has its value and the ids of the last writes, newest first."""
    refs = JsonRefs.in_memory()
    ref = refs.create("name", values[0], write_id="write-0")
    for number, value in enumerate(values):
        if number:
            ref = refs.replace(ref, value, write_id=f"write-{number}")
        found = refs.get("name")
        assert found == ref
        assert found is not None
        assert found.value == value
        before = [f"write-{earlier}" for earlier in reversed(range(number))]
        assert list(found.earlier_writes) == before[:REMEMBERED]
        assert found.write_id == f"write-{number}"
        for earlier in range(number + 1):
            remembered = number - earlier <= REMEMBERED
            assert refs.wrote("name", f"write-{earlier}") is remembered
            assert found.follows(f"write-{earlier}") is remembered


def test_a_document_of_another_program_has_a_digest_for_an_id(tmp_path: Path) -> None:
    """Without a write id the bytes stand for one, so that it can be recognised and replaced."""
    refs = JsonRefs.open(tmp_path)
    (tmp_path / "one.json").write_bytes(b'{"name": "main"}')
    (tmp_path / "two.json").write_bytes(b'{"name": "Main"}')
    one, two = refs.list()
    assert one.value == {"name": "main"}
    assert one.write_id.startswith("sha256-")
    assert one.write_id != two.write_id
    assert refs.replace(one, {}).earlier_writes == (one.write_id,)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"\xff",
        b'{"write_id": 7}',
        b'{"write_id": "x", "earlier_writes": "y"}',
        b'{"write_id": "x", "earlier_writes": [7]}',
        b'{"write_id": "x", "deleted": "yes"}',
        b"[" * 100_000,
        b'{"value": NaN}',
        b'{"value": -Infinity}',
        b'{"value": 1e999}',
        b'{"value": 1' + b"0" * 5_000 + b"}",
        b'{"value": "\\ud800"}',
    ],
)
def test_damaged_documents_are_named(tmp_path: Path, data: bytes) -> None:
    """What is no document of any program is CorruptRef, which names location and ref."""
    (tmp_path / "main.json").write_bytes(data)
    refs = JsonRefs.open(tmp_path)
    with pytest.raises(CorruptRef) as caught:
        refs.get("main")
    assert (caught.value.location, caught.value.name) == (refs.location, "main")


def test_names_are_listed_without_reading(tmp_path: Path) -> None:
    """Also that of a document which cannot be read, so that others are not hidden by it."""
    refs = JsonRefs.open(tmp_path, "refs")
    assert refs.names() == ()
    for name in ("a/b", "b", "gone"):
        refs.create(name, {})
    refs.delete(refs.list("gone")[0])
    (tmp_path / "refs" / "b.json").write_bytes(b"{")
    assert refs.names() == ("a/b", "b")
    assert refs.names("a") == ("a/b",)
