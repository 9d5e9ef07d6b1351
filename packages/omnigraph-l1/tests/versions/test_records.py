"""Records of versions: what is written is read, and the newest comes first."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1._lance.manifest_names import format_name
from omnigraph_l1._versions.records import Record, name_of, version_of

VERSIONS = st.integers(0, 2**64 - 1)


def _record(version: int, *, is_final: bool = False) -> Record:
    staged = f"a/b/_versions/{format_name(version)}-0a1b"
    return Record(version=version, staged=staged, size=12, is_final=is_final)


@given(VERSIONS, st.booleans())
def test_a_record_comes_back(version: int, is_final: bool) -> None:  # noqa: FBT001
    """It is the same, and is read where it says."""
    record = _record(version, is_final=is_final)
    assert Record.from_bytes(record.to_bytes()) == record
    assert record.final == f"a/b/_versions/{format_name(version)}"
    assert record.path == (record.final if is_final else record.staged)


@given(VERSIONS, VERSIONS)
def test_the_newest_comes_first(one: int, other: int) -> None:
    """By name, as stores list."""
    assert version_of(name_of(one)) == one
    assert (name_of(one) < name_of(other)) == (one > other)


@pytest.mark.parametrize("name", ["", "1.version", "x.json", f"{2**64 - 1}", f"{'9' * 21}.version"])
def test_other_names_are_no_records(name: str) -> None:
    """What else lies there is passed over."""
    assert version_of(name) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"\xff", json.dumps({"version": 1, "staged": "x", "size": 1}).encode()],
)
def test_damage_is_told(data: bytes) -> None:
    """A record that says nothing sound is none."""
    with pytest.raises(ValueError, match="no record"):
        Record.from_bytes(data)


def test_a_record_of_another_version_is_damage() -> None:
    """A staged file must be one of the version that it is recorded for."""
    other = json.loads(_record(3).to_bytes())
    with pytest.raises(ValueError, match="no record"):
        Record.from_bytes(json.dumps({**other, "version": 4}).encode())
