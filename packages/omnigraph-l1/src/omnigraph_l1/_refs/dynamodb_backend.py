"""Small documents in the DynamoDB table in which Lance keeps versions of ``s3+ddb`` datasets.

Invariant: every change is one conditional request, tried once; reads are consistent. A directory is
one partition, whose name no dataset can have; a document lies in it under a number that is made of
its name, because the key of that table is a text and a number. When it was written is
by the clock of DynamoDB, as in its replies, even if the clock of the writer is set.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, Final

from omnigraph_l1._refs.condition_probe import probe_conditions
from omnigraph_l1._refs.ref_backend import ConditionFailed, ReplyLost, Stored
from omnigraph_l1._storage.location import Storage
from omnigraph_l1._storage.storage_options import parse_seconds
from omnigraph_l1._storage.store_failures import strip_body
from omnigraph_l1._text_encoding import new_ulid
from omnigraph_l1.deadlines import DYNAMODB_SECONDS
from omnigraph_l1.errors import (
    AccessDenied,
    InvalidStorageOptions,
    StorageError,
    StoreUnavailable,
)
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["DynamoBackend"]

_PARTITION: Final = "omnigraph "
"""No base_uri of Lance's has a space in its first word."""
_REFUSED: Final = "ConditionalCheckFailedException"
_DENIED: Final = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "UnrecognizedClientException",
    }
)
_NO_TABLE: Final = "ResourceNotFoundException"
_MISFIT: Final = "ValidationException"
_NO_KEY: Final = {"base_uri": {"S": "omnigraph clock"}, "version": {"N": "0"}}
_NOT_DONE: Final = 500
_TIME_IS_GOOD: Final = 60.0
_CLOCK_WAS_SET: Final = 1.0

_SENDING = declare("refs.dynamodb.sending", "A conditional request is about to be sent.")
_SENT = declare("refs.dynamodb.sent", "The reply to a conditional request says done.")


class DynamoBackend:
    """A directory of documents."""

    keeps_tombstones = True

    def __init__(self, storage: Storage, directory: str) -> None:
        options = storage.lance_options
        self._storage = storage
        self._partition = _PARTITION + directory
        self._table = storage.location.dynamodb_table
        self.attempts = 1 + int(options["client_max_retries"])
        self.seconds = float(options["client_retry_timeout"])

    @property
    def location(self) -> str:
        """Where it is, for errors."""
        return f"DynamoDB table {self._table}"

    def read(self, file_name: str) -> Stored | None:
        """Read a document."""
        with self._asking():
            found = self._client.get_item(
                TableName=self._table, Key=self._key(file_name), ConsistentRead=True
            ).get("Item")
        return None if found is None else Stored(found["data"]["B"], found["token"]["S"])

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Put a document where the condition holds."""
        token = new_ulid()
        item = {
            **self._key(file_name),
            "name": {"S": file_name},
            "data": {"B": data},
            "token": {"S": token},
            "written": {"N": str(self._now())},
        }
        with self._changing():
            self._client.put_item(TableName=self._table, Item=item, **_where(expected))
        failpoint(_SENT)
        return token

    def remove(self, file_name: str, expected: str) -> None:
        """Remove a document where the condition holds."""
        with self._changing():
            self._client.delete_item(
                TableName=self._table, Key=self._key(file_name), **_where(expected)
            )

    def marks(self) -> dict[str, str | None]:
        """Return the names of the documents, with their tokens."""
        found = self._all("#n, #t", {"#n": "name", "#t": "token"})
        return {each["name"]["S"]: each["token"]["S"] for each in found}

    def ages(self) -> dict[str, datetime]:
        """Return when each document was last written, by DynamoDB's clock."""
        return {
            each["name"]["S"]: datetime.fromtimestamp(float(each["written"]["N"]), timezone.utc)
            for each in self._all("#n, written", {"#n": "name"})
        }

    def probe(self) -> None:
        """Find out, with a document of its own, whether conditions are honoured."""
        probe_conditions(self)

    def erase(self, file_name: str) -> None:
        """Remove a document whatever stands there. For the probe only."""
        with self._asking():
            self._client.delete_item(TableName=self._table, Key=self._key(file_name))

    def _all(self, attributes: str, names: dict[str, str]) -> Iterator[Any]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            ConsistentRead=True,
            KeyConditionExpression="base_uri = :partition",
            ExpressionAttributeValues={":partition": {"S": self._partition}},
            ProjectionExpression=attributes,
            ExpressionAttributeNames=names,
        )
        with self._asking():
            for page in pages:
                yield from page["Items"]

    def _now(self) -> float:
        """Return DynamoDB's time: this machine's, corrected by the difference of the clocks."""
        with self._asking():
            return _clock(self._storage, self._table).now()

    def _key(self, file_name: str) -> dict[str, Any]:
        digest = hashlib.sha256(file_name.encode()).digest()
        number = int.from_bytes(digest[:15], "big")  # DynamoDB's numbers have 38 digits
        return {"base_uri": {"S": self._partition}, "version": {"N": str(number)}}

    @property
    def _client(self) -> Any:
        return _client(self._storage)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        failpoint(_SENDING)
        try:
            yield
        except ClientError as error:
            if _code(error) == _REFUSED:
                raise ConditionFailed from error
            if error.response["ResponseMetadata"]["HTTPStatusCode"] >= _NOT_DONE:
                raise ReplyLost(self._failure(error)) from error
            raise self._failure(error) from error
        except BotoCoreError as error:
            raise ReplyLost(self._failure(error)) from error

    @contextmanager
    def _asking(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        try:
            yield
        except (BotoCoreError, ClientError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StorageError:
        code = _code(error)
        if code in _DENIED:
            return AccessDenied(location=self.location, detail=code)
        if code == _NO_TABLE:
            detail = (
                "it is not there: make it with the text base_uri as hash key and the number "
                "version as range key"
            )
            return StorageError(location=self.location, detail=detail)
        text = strip_body(str(error))
        if code == _MISFIT:
            return StorageError(location=self.location, detail=text)
        return StoreUnavailable(location=self.location, detail=text)


class _Clock:
    """DynamoDB's time, requested again once a minute, and if the local clock was set."""

    def __init__(self, storage: Storage, table: str) -> None:
        self._storage = storage
        self._table = table
        self._asked: tuple[float, float, float] | None = None

    def now(self) -> float:
        here, awake = time.time(), time.monotonic()
        if self._asked is not None:
            stored, then, was_awake = self._asked
            waited = awake - was_awake
            # Asleep, only one of the two goes on.
            if waited < _TIME_IS_GOOD and abs(here - then - waited) < _CLOCK_WAS_SET:
                return stored + waited
        self._asked = self._ask(), here, awake
        return self._asked[0]

    def _ask(self) -> float:
        reply = _client(self._storage).get_item(TableName=self._table, Key=_NO_KEY)
        date = reply["ResponseMetadata"]["HTTPHeaders"].get("date")
        if date is None:
            location = f"DynamoDB table {self._table}"
            raise StorageError(location=location, detail="its replies do not say what time it is")
        return parsedate_to_datetime(date).timestamp()


@lru_cache(64)
def _clock(storage: Storage, table: str) -> _Clock:
    """Return the clock of a table. It may be used by many threads."""
    return _Clock(storage, table)


def _where(expected: str | None) -> dict[str, Any]:
    if expected is None:
        return {"ConditionExpression": "attribute_not_exists(base_uri)"}
    return {
        "ConditionExpression": "#t = :expected",
        "ExpressionAttributeNames": {"#t": "token"},
        "ExpressionAttributeValues": {":expected": {"S": expected}},
    }


def _code(error: Exception) -> str:
    return str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))


@lru_cache(64)
def _client(storage: Storage) -> Any:
    """Return the client of this process for a storage. It may be used by many threads."""
    try:
        import boto3  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415
    except ImportError as error:
        raise InvalidStorageOptions(
            location=str(storage),
            option="ddbTableName",
            reason="needs the package boto3",
            remedy="Install omnigraph-l1[dynamodb].",
        ) from error
    options = storage.lance_options
    longest = min(parse_seconds(options["timeout"]), DYNAMODB_SECONDS)
    config = Config(
        retries={"total_max_attempts": 1},  # the caller recognises its own write, boto3 does not
        connect_timeout=parse_seconds(options["connect_timeout"]),
        read_timeout=longest,
    )
    try:
        return boto3.session.Session().client(
            "dynamodb",
            config=config,
            region_name=options["aws_region"],
            endpoint_url=options.get("dynamodb_endpoint"),
            aws_access_key_id=options.get("aws_access_key_id"),
            aws_secret_access_key=options.get("aws_secret_access_key"),
            aws_session_token=options.get("aws_session_token"),
        )
    except ValueError:
        raise InvalidStorageOptions(
            location=str(storage),
            option="dynamodb_endpoint",
            reason="is not an http(s) URL",
            remedy="Write it as 'https://host' or 'https://host:port'.",
        ) from None
