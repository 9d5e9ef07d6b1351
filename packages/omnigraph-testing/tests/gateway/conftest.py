"""Clients that do not wait long, so that what they do about faults is soon seen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import attrs
import lance
import obstore.store
import pyarrow as pa
import pytest

from omnigraph_testing import FaultyS3

ROWS = pa.table({"a": [1, 2, 3]})


@attrs.frozen
class LanceTable:
    """A Lance table of three rows that was written past the gateway."""

    faulty: FaultyS3
    name: str = "t.lance"

    @property
    def uri(self) -> str:
        """Where it is."""
        return self.faulty.uri(self.name)

    @property
    def options(self) -> dict[str, str]:
        """Options of a client of the gateway that tries once more and waits for ten seconds."""
        return {**self.faulty.storage_options, "client_max_retries": "1", "timeout": "10s"}

    def open(self, **kwargs: Any) -> lance.LanceDataset:
        """Open it through the gateway."""
        return lance.dataset(self.uri, storage_options=self.options, **kwargs)

    def append(self, rows: pa.Table = ROWS) -> int:
        """Append through the gateway, and return the version that Lance names."""
        written = lance.write_dataset(rows, self.uri, storage_options=self.options, mode="append")
        version: int = written.version
        return version

    @property
    def truth(self) -> lance.LanceDataset:
        """The newest version, opened past the gateway."""
        return lance.dataset(self.uri, storage_options=self.faulty.direct.storage_options)

    def versions(self) -> list[int]:
        """Return the numbers of the versions that are really there."""
        return [each["version"] for each in self.truth.versions()]


@pytest.fixture
def table(faulty_s3: FaultyS3) -> LanceTable:
    """A Lance table of three rows, reached through the gateway."""
    made = LanceTable(faulty_s3)
    lance.write_dataset(ROWS, made.uri, storage_options=faulty_s3.direct.storage_options)
    return made


@pytest.fixture
def store(faulty_s3: FaultyS3) -> obstore.store.S3Store:
    """An obstore client of the gateway that tries once more and waits for ten seconds."""
    kwargs: dict[str, Any] = {
        "config": faulty_s3.obstore_kwargs["config"],
        "client_options": {"allow_http": True, "timeout": "10s"},
        "retry_config": {
            "max_retries": 1,
            "retry_timeout": timedelta(seconds=10),
            "backoff": {
                "init_backoff": timedelta(milliseconds=5),
                "max_backoff": timedelta(milliseconds=10),
                "base": 2,
            },
        },
    }
    return obstore.store.S3Store.from_url(faulty_s3.uri(), **kwargs)


@pytest.fixture
def truth(faulty_s3: FaultyS3) -> Callable[[str], bytes | None]:
    """What really is at a key, or None."""
    direct = faulty_s3.direct.obstore()

    def get(name: str) -> bytes | None:
        try:
            return bytes(direct.get(name).bytes())
        except FileNotFoundError:
            return None

    return get
