"""A name of a ref becomes one file name, and comes back from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1._refs.names import decode_name, encode_name
from omnigraph_l1.errors import InvalidName
from omnigraph_testing.contracts.refs import ref_names


@given(ref_names())
def test_decoding_undoes_encoding(name: str) -> None:
    """Whatever the name, its file name is one segment, and gives the name back."""
    file_name = encode_name(name)
    assert "/" not in file_name
    assert "\\" not in file_name
    assert decode_name(file_name) == name


@given(ref_names(), ref_names())
def test_two_names_have_two_files(one: str, two: str) -> None:
    """Different names never meet in one file."""
    assert (one == two) == (encode_name(one) == encode_name(two))


@given(st.text(max_size=20))
def test_a_file_is_a_ref_only_under_its_own_name(file_name: str) -> None:
    """A file decodes only to the name that is encoded as this very file."""
    for candidate in (file_name, file_name + ".json"):
        name = decode_name(candidate)
        assert name is None or encode_name(name) == candidate


@pytest.mark.parametrize(
    ("name", "file_name"),
    [
        ("main", "main.json"),
        ("feature/x", "feature%2Fx.json"),
        ("100%", "100%25.json"),
        ("a%2Fb", "a%252Fb.json"),
        ("a\\b", "a%5Cb.json"),
        ("ü 人", "ü 人.json"),
    ],
)
def test_the_format(name: str, file_name: str) -> None:
    """The file names are those of FORMAT.md."""
    assert encode_name(name) == file_name


@pytest.mark.parametrize("file_name", ["a", "a.JSON", "a%2fb.json", "%41.json", ".json", "..json"])
def test_foreign_files_are_no_refs(file_name: str) -> None:
    """A file that no name is encoded as is not a ref."""
    assert decode_name(file_name) is None


def test_the_longest_name() -> None:
    """A file name has 255 bytes at most, counted after encoding; the error says how many it has."""
    assert encode_name("x" * 250)
    assert encode_name("人" * 83)
    for name in ("x" * 251, "人" * 84, "/".join("x" * 70)):
        with pytest.raises(InvalidName, match="255"):
            encode_name(name)
