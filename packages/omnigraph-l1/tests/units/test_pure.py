"""The small pure parts: ids, names of version files, literals."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import new_ulid
from omnigraph_l1._lance.manifest_names import NamingScheme, format_name, parse_name
from omnigraph_l1._table.literals import column_name, in_list, literal
from omnigraph_l1._ulid import format_ulid

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_MILLISECONDS = st.integers(0, 2**48 - 1)


def _number(ulid: str) -> int:
    value = 0
    for character in ulid:
        value = value * 32 + _ALPHABET.index(character)
    return value


@given(_MILLISECONDS, st.binary(min_size=10, max_size=10))
def test_a_ulid_is_its_time_and_its_chance(milliseconds: int, chance: bytes) -> None:
    """Read back by a second implementation, it gives what it was made of."""
    ulid = format_ulid(milliseconds, chance)
    assert len(ulid) == 26
    assert _number(ulid) == milliseconds * 2**80 + int.from_bytes(chance, "big")


@given(_MILLISECONDS, _MILLISECONDS, st.binary(min_size=10, max_size=10))
def test_ulids_sort_by_time(first: int, second: int, chance: bytes) -> None:
    """As text, an earlier one comes first."""
    assert (format_ulid(first, chance) < format_ulid(second, chance)) == (first < second)


def test_ulids_differ() -> None:
    """Each call makes another."""
    assert len({new_ulid() for _ in range(1000)}) == 1000


@pytest.mark.parametrize(("time", "chance"), [(-1, bytes(10)), (2**48, bytes(10)), (0, bytes(9))])
def test_what_is_no_ulid(time: int, chance: bytes) -> None:
    """Time beyond 48 bits or too little chance is refused."""
    with pytest.raises(ValueError, match="48 bits"):
        format_ulid(time, chance)


@given(st.integers(0, 2**64 - 1), st.sampled_from(NamingScheme))
def test_names_of_version_files_go_both_ways(version: int, scheme: NamingScheme) -> None:
    """What is formatted parses to itself; a V1 name of twenty digits reads as V2, as in Lance."""
    parsed = parse_name(format_name(version, scheme))
    if scheme is NamingScheme.V1 and version >= 10**19:
        scheme, version = NamingScheme.V2, 2**64 - 1 - version
    assert parsed == (scheme, version)


@given(st.integers(0, 2**64 - 2))
def test_v2_names_sort_the_newest_first(version: int) -> None:
    """So that a listing shows the newest at its beginning."""
    assert format_name(version + 1) < format_name(version)


@pytest.mark.parametrize(
    "name",
    ["", "manifest", "x.manifest", "01.manifest", "-1.manifest", "1.manifest.torn-x", "1.manifest~",
     "99999999999999999999.manifest", "latest_version_hint.json", "1 .manifest", "\u0661.manifest"],
)  # fmt: skip
def test_what_is_no_version_file(name: str) -> None:
    """Other files in the directory are passed over."""
    assert parse_name(name) is None


@pytest.mark.parametrize("version", [-1, 2**64])
def test_versions_that_cannot_be(version: int) -> None:
    """A version is a whole number of 64 bits."""
    with pytest.raises(ValueError, match=str(version)):
        format_name(version)


@pytest.mark.parametrize(("v2", "scheme"), [(True, NamingScheme.V2), (False, NamingScheme.V1)])
def test_the_names_are_those_that_lance_writes(
    tmp_path: Path, *, v2: bool, scheme: NamingScheme
) -> None:
    """Checked against the files of a real dataset, in both schemes."""
    dataset = lance.write_dataset(pa.table({"a": [1]}), tmp_path / "t", enable_v2_manifest_paths=v2)
    for number in range(3):
        dataset = lance.write_dataset(pa.table({"a": [number]}), dataset, mode="append")
    names = {path.name for path in (tmp_path / "t" / "_versions").glob("*.manifest")}
    assert names == {format_name(version, scheme) for version in range(1, 5)}


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1, max_size=4, unique=True
    )
)
def test_literals_mean_themselves(values: list[str]) -> None:
    """Whatever a value holds, the filter finds exactly it."""
    data = pa.table({"id": [*values, "other"], "n": range(len(values) + 1)})
    dataset = lance.write_dataset(data, "memory://", mode="create")
    for value in values:
        found = dataset.to_table(filter=f"id = {literal(value)}")["id"].to_pylist()
        assert found == ([value] if value != "other" else [value] * found.count(value))
    assert set(dataset.to_table(filter=in_list("id", values))["id"].to_pylist()) >= set(values)


def test_numbers_and_columns_as_text() -> None:
    """Numbers and truth values are not quoted; a column name may hold spaces and keywords."""
    assert (literal(3), literal(True), literal("3")) == ("3", "true", "'3'")
    data = pa.table({"Select a b": [1, 2]})
    dataset = lance.write_dataset(data, "memory://", mode="create")
    assert dataset.count_rows(f"{column_name('Select a b')} = 2") == 1
