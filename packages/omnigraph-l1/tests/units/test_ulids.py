"""ULIDs: 26 characters that hold the time and chance, and sort by time."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import new_ulid

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_MILLISECONDS = st.integers(0, 2**48 - 1)


def _number(ulid: str) -> int:
    value = 0
    for character in ulid:
        value = value * 32 + _ALPHABET.index(character)
    return value


def _made_at(milliseconds: int, chance: bytes) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: milliseconds * 1_000_000 + 999_999)
        patch.setattr(os, "urandom", lambda count: chance[:count])
        return new_ulid()


@given(_MILLISECONDS, st.binary(min_size=10, max_size=10))
def test_a_ulid_is_its_time_and_its_chance(milliseconds: int, chance: bytes) -> None:
    """Read back by a second implementation, it gives what it was made of."""
    ulid = _made_at(milliseconds, chance)
    assert len(ulid) == 26
    assert _number(ulid) == milliseconds * 2**80 + int.from_bytes(chance, "big")


@given(_MILLISECONDS, _MILLISECONDS, st.binary(min_size=10, max_size=10))
def test_ulids_sort_by_time(first: int, second: int, chance: bytes) -> None:
    """As text, an earlier one comes first."""
    assert (_made_at(first, chance) < _made_at(second, chance)) == (first < second)


def test_ulids_differ() -> None:
    """Each call makes another."""
    assert len({new_ulid() for _ in range(1000)}) == 1000


@pytest.mark.parametrize("milliseconds", [-1, 2**48])
def test_a_time_that_is_no_ulid(milliseconds: int) -> None:
    """Time beyond 48 bits is refused."""
    with pytest.raises(ValueError, match="48 bits"):
        _made_at(milliseconds, bytes(10))
