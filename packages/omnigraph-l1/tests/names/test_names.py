"""The hash of a type name and the path of its table are those of FORMAT.md, for ever."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import fnv1a64, table_path, type_hash
from omnigraph_l1.errors import InvalidName

VECTORS = {
    "": "cbf29ce484222325",
    "a": "af63dc4c8601ec8c",
    "foobar": "85944171f73967e8",
    "Person": "40d76f1f51639ec0",
    "Knows": "602a25a3bd0b455b",
    "人": "1e52f01b6784a0c3",
}


def _second_fnv1a64(data: bytes) -> int:
    """Work with the bits of the prime, 2^40 + 2^8 + 0xb3, instead of multiplying by it."""

    def step(state: int, byte: int) -> int:
        mixed = state ^ byte
        total = mixed << 40
        total += mixed << 8
        for bit in (0, 1, 4, 5, 7):
            total += mixed << bit
        return total % 2**64

    return reduce(step, data, 14695981039346656037)


@pytest.mark.parametrize(("name", "digest"), VECTORS.items())
def test_the_vectors_of_the_format(name: str, digest: str) -> None:
    """Each vector that FORMAT.md lists comes out, as a number and as hex digits."""
    assert type_hash(name) == digest
    assert fnv1a64(name) == int(digest, 16)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_second_implementation_agrees(name: str) -> None:
    """Any name that UTF-8 can write hashes as in an implementation written apart."""
    assert fnv1a64(name) == _second_fnv1a64(name.encode())
    assert type_hash(name) == format(_second_fnv1a64(name.encode()), "016x")


def test_paths_of_nodes_and_edges() -> None:
    """The kind chooses the folder, the rest of the key, colons included, is the type's name."""
    assert table_path("node:Person") == "nodes/40d76f1f51639ec0"
    assert table_path("edge:Knows") == "edges/602a25a3bd0b455b"
    assert table_path("node:a:b") == f"nodes/{type_hash('a:b')}"


@pytest.mark.parametrize(
    "key", ["", "Person", "node", "node:", "Node:Person", "nodes:Person", ":Person", "node/Person"]
)
def test_a_malformed_table_key_is_refused(key: str) -> None:
    """Anything but ``node:X`` and ``edge:X`` is InvalidName, which names the key."""
    with pytest.raises(InvalidName, match="node:Person") as caught:
        table_path(key)
    assert caught.value.name == key


def test_a_lone_surrogate_is_refused() -> None:
    """What UTF-8 cannot write has no hash, and says so with a typed error."""
    with pytest.raises(InvalidName):
        fnv1a64("\ud800")
    with pytest.raises(InvalidName):
        table_path("node:\udfff")
