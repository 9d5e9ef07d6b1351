"""DynamoDB's time, as it is written with each document: leases are judged by it."""

from __future__ import annotations

import time
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import attrs
import boto3
import pytest

from omnigraph_l1 import JsonRefs, Storage
from omnigraph_l1.errors import InvalidStorageOptions, StorageError

OPTIONS = {"aws_region": "r", "aws_access_key_id": "k", "aws_secret_access_key": "s"}


def _storage(**more: str) -> Storage:
    # What was learned of a table is kept: each test has its own.
    location = f"s3+ddb://b/graph?ddbTableName={uuid4().hex}"
    return Storage.resolve(location, {**OPTIONS, **more}, environ={})


@attrs.define
class FakeDynamo:
    """A client of DynamoDB for tables in which nothing is, with a clock of its own."""

    clock: float | None
    asked: int = 0
    written: list[float] = attrs.field(factory=list)

    def get_item(self, **_: Any) -> dict[str, Any]:
        """Return the time, and no item."""
        self.asked += 1
        headers = {} if self.clock is None else {"date": formatdate(self.clock, usegmt=True)}
        return {"ResponseMetadata": {"HTTPHeaders": headers}}

    def put_item(self, *, Item: dict[str, Any], **_: Any) -> None:  # noqa: N803 - boto3's name
        """Keep the time that is written with a document."""
        self.written.append(float(Item["written"]["N"]))


@pytest.fixture
def dynamo(monkeypatch: pytest.MonkeyPatch) -> FakeDynamo:
    """Return what boto3 connects to."""
    fake = FakeDynamo(5000.0)
    session = SimpleNamespace(client=lambda *_, **__: fake)
    monkeypatch.setattr(boto3.session, "Session", lambda: session)
    return fake


def test_a_clock_that_is_set_is_compared_again(
    dynamo: FakeDynamo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DynamoDB's is requested once a minute, and where the local one jumps, or was asleep."""
    now = {"wall": 1000.0, "awake": 50.0}
    refs = JsonRefs.open(_storage())

    def written() -> tuple[float, int]:
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: now["wall"])
            patch.setattr(time, "monotonic", lambda: now["awake"])
            refs.create("name", {})
        return dynamo.written[-1], dynamo.asked

    def wait(seconds: float) -> None:
        assert dynamo.clock is not None
        dynamo.clock += seconds
        for name in now:
            now[name] += seconds

    assert written() == (5000.0, 1)
    wait(10)
    assert written() == (5010.0, 1)
    now["wall"] -= 3600  # an administrator sets it
    assert written() == (5010.0, 2)
    wait(3600)
    now["awake"] -= 3600  # it was asleep
    assert written() == (8610.0, 3)
    wait(61)
    assert written() == (8671.0, 4)


def test_no_time_is_guessed(dynamo: FakeDynamo) -> None:
    """Replies without it are refused: by another clock, a lease could be taken for expired."""
    refs = JsonRefs.open(_storage())
    dynamo.clock = None
    with pytest.raises(StorageError, match="what time it is"):
        refs.create("name", {})
    assert dynamo.written == []
    dynamo.clock = 1795068000.0
    refs.create("name", {})
    assert dynamo.written == [1795068000.0]


def test_an_endpoint_that_only_boto3_refuses_is_named() -> None:
    """Its rules for hosts are narrower than those of URLs."""
    with pytest.raises(InvalidStorageOptions) as raised:
        JsonRefs.open(_storage(dynamodb_endpoint="http://ho_st")).get("name")
    assert raised.value.option == "dynamodb_endpoint"


@pytest.mark.parametrize("endpoint", ["no url", "http://user:hidden@host"])
def test_an_endpoint_that_is_none_is_named(endpoint: str) -> None:
    """By the name of the option, before any error quotes it."""
    with pytest.raises(InvalidStorageOptions) as raised:
        _storage(dynamodb_endpoint=endpoint)
    assert raised.value.option == "dynamodb_endpoint"
    assert "hidden" not in str(raised.value)
