"""DynamoDB's time, as it is written beside documents: leases are judged by it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from omnigraph_l1 import Storage
from omnigraph_l1._refs import dynamodb
from omnigraph_l1.errors import InvalidStorageOptions, StorageError

OPTIONS = {"aws_region": "r", "aws_access_key_id": "k", "aws_secret_access_key": "s"}


def _storage(**more: str) -> Storage:
    return Storage.resolve("s3+ddb://b/graph?ddbTableName=t", {**OPTIONS, **more}, environ={})


def test_a_clock_that_is_set_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked once a minute, and where the clock of this machine jumps, or it slept."""
    now = {"wall": 1000.0, "awake": 50.0, "theirs": 5000.0}
    asked = []

    def ask(_: object) -> float:
        asked.append(now["theirs"])
        return now["theirs"]

    clocks = SimpleNamespace(time=lambda: now["wall"], monotonic=lambda: now["awake"])
    monkeypatch.setattr(dynamodb, "time", clocks)
    monkeypatch.setattr(dynamodb._Clock, "_ask", ask)
    clock = dynamodb._Clock(_storage(), "t")
    assert clock.now() == 5000.0
    for name in now:
        now[name] += 10
    assert (clock.now(), len(asked)) == (5010.0, 1)
    now["wall"] -= 3600  # somebody sets it
    assert (clock.now(), len(asked)) == (5010.0, 2)
    now["wall"] += 3600  # it sleeps
    now["theirs"] += 3600
    assert (clock.now(), len(asked)) == (8610.0, 3)
    for name in now:
        now[name] += 61
    assert (clock.now(), len(asked)) == (8671.0, 4)


def test_no_time_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies that do not say it are told: by another clock, a lease could be taken for dead."""
    reply = {"ResponseMetadata": {"HTTPHeaders": {}}}
    client = SimpleNamespace(get_item=lambda **_: reply)
    monkeypatch.setattr(dynamodb, "_client", lambda _: client)
    with pytest.raises(StorageError, match="what time it is"):
        dynamodb._Clock(_storage(), "t").now()
    reply["ResponseMetadata"]["HTTPHeaders"]["date"] = "Thu, 19 Nov 2026 06:00:00 GMT"
    assert dynamodb._Clock(_storage(), "t").now() == 1795068000.0


def test_an_endpoint_that_only_boto3_refuses_is_told() -> None:
    """Its rules for hosts are narrower than those of URLs."""
    with pytest.raises(InvalidStorageOptions) as raised:
        dynamodb._Clock(_storage(dynamodb_endpoint="http://ho_st"), "t").now()
    assert raised.value.option == "dynamodb_endpoint"


@pytest.mark.parametrize("endpoint", ["no url", "http://user:hidden@host"])
def test_an_endpoint_that_is_none_is_told(endpoint: str) -> None:
    """By the name of the option, before any error quotes it."""
    with pytest.raises(InvalidStorageOptions) as raised:
        _storage(dynamodb_endpoint=endpoint)
    assert raised.value.option == "dynamodb_endpoint"
    assert "hidden" not in str(raised.value)
