"""A document of a ref comes back as it was composed; anything else is CorruptRef."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import JsonRefs
from omnigraph_l1._refs.document import REMEMBERED, Document, check_value, compose, parse
from omnigraph_l1.errors import CorruptRef
from omnigraph_testing.contracts.refs import ref_values


def _follow(before: Document | None, value: dict[str, Any], write_id: str) -> Document:
    data = compose(check_value("here", "name", value), write_id=write_id, before=before)
    return parse("here", "name", data, "token")


@given(st.lists(ref_values(), min_size=1, max_size=REMEMBERED + 5))
def test_a_document_remembers_the_writes_before_it(values: list[dict[str, Any]]) -> None:
    """Each document has its value and the ids of the last writes, newest first."""
    document: Document | None = None
    for number, value in enumerate(values):
        document = _follow(document, value, f"write-{number}")
        assert json.loads(document.text) == value
        before = [f"write-{earlier}" for earlier in reversed(range(number))]
        assert list(document.earlier_writes) == before[:REMEMBERED]
        assert document.writes[0] == f"write-{number}"
        assert document.is_ours


def test_a_document_of_another_program_has_a_digest_for_an_id() -> None:
    """Without a write id the bytes stand for one, so that it can be told apart and replaced."""
    one = parse("here", "name", b'{"name": "main"}', "")
    two = parse("here", "name", b'{"name": "Main"}', "")
    assert json.loads(one.text) == {"name": "main"}
    assert one.write_id.startswith("sha256-")
    assert one.write_id != two.write_id
    assert not one.is_ours
    assert _follow(one, {}, "ours").earlier_writes == (one.write_id,)


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
    ],
)
def test_damaged_documents_are_named(data: bytes) -> None:
    """What is no document of ours or of anybody is CorruptRef, which names place and ref."""
    with pytest.raises(CorruptRef) as caught:
        parse("here", "main", data, "")
    assert (caught.value.place, caught.value.name) == ("here", "main")


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
