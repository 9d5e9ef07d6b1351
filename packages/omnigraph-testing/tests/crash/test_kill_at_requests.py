"""Killed at the n-th request to a real store, before or after the store did it."""

from __future__ import annotations

import pytest
from obstore.store import from_url

from omnigraph_testing import AtRequest, Crash, FaultyS3, NeverKilled, S3Store


def put_three(uri: str, options: dict[str, dict[str, str]]) -> int:
    """Put three objects, one by one."""
    store = from_url(uri, **options)  # type: ignore[call-overload]
    for name in "abc":
        store.put(name, name.encode())
    return 3


def names(store: S3Store) -> list[str]:
    """List what arrived at the store, without the gateway."""
    found = store.obstore().list().collect()
    return sorted(each["path"] for each in found)


@pytest.mark.parametrize(("at", "left"), [("before", ["a"]), ("after", ["a", "b"])])
def test_either_side_of_a_request(
    omnigraph_crash: Crash, faulty_s3: FaultyS3, s3_store: S3Store, at: str, left: list[str]
) -> None:
    """Before: the store never sees the request. After: it did it, and nobody heard the reply."""
    kill = AtRequest(faulty_s3, 2, method="PUT", at=at)
    outcome = omnigraph_crash.run(put_three, faulty_s3.uri(), faulty_s3.obstore_kwargs, kill=kill)
    assert outcome.killed
    assert names(s3_store) == left


def test_everywhere_at_the_store(omnigraph_crash: Crash, faulty_s3: FaultyS3) -> None:
    """Each request is tried on both sides."""
    found = [
        (str(crashed.kill), crashed.outcome.killed)
        for crashed in omnigraph_crash.everywhere(
            put_three,
            prepare=lambda _place: (faulty_s3.uri(), faulty_s3.obstore_kwargs),
            by="requests",
            store=faulty_s3,
        )
    ]
    sides = [(side, number) for number in (1, 2, 3) for side in ("before", "after")]
    assert found == [(f"{side} its request of * number {number}", True) for side, number in sides]


def test_a_request_that_never_comes_is_an_error(
    omnigraph_crash: Crash, faulty_s3: FaultyS3
) -> None:
    """A program that asks less of the store was not killed, and the test hears of it."""
    with pytest.raises(NeverKilled, match="number 4"):
        omnigraph_crash.run(
            put_three, faulty_s3.uri(), faulty_s3.obstore_kwargs, kill=AtRequest(faulty_s3, 4)
        )
    assert len(faulty_s3.requests) == 3
