"""How a version store is named, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from omnigraph_l1 import Storage
from omnigraph_l1.errors import InvalidStorageOptions

OPTIONS = {
    "aws_region": "r",
    "aws_access_key_id": "k",
    "aws_secret_access_key": "hidden",
    "aws_endpoint": "https://data",
}


def _resolved(place: str, **more: object) -> Storage:
    return Storage.resolve(place, {**OPTIONS, **more}, environ={})  # type: ignore[arg-type]


def test_what_is_below_has_the_same() -> None:
    """A place below, a copy elsewhere, changed options: all keep it, and show no secret."""
    storage = _resolved("s3://b/graph", version_store="sqlite:///folder/v%20s.db")
    assert str(storage.version_store) == "sqlite:///folder/v s.db"
    for same in (
        storage.child("nodes"),
        pickle.loads(pickle.dumps(storage)),
        storage.with_options(),
    ):
        assert same.version_store == storage.version_store
    assert "version_store" not in storage.lance_options
    assert "hidden" not in repr(storage)


def test_a_bucket_has_the_options_of_the_data_unless_it_has_its_own() -> None:
    """So that one set of credentials serves both."""
    given = {"version_store": "s3://decides/x", "version_store.aws_endpoint": "https://decider"}
    storage = _resolved("s3://b/graph", **given)
    store = storage.version_store
    assert isinstance(store, Storage)
    assert store.lance_options["aws_endpoint"] == "https://decider"
    assert store.lance_options["aws_secret_access_key"] == "hidden"
    assert storage.lance_options["aws_endpoint"] == "https://data"


def test_a_dynamodb_place_has_its_own() -> None:
    """The table that its URI names."""
    storage = _resolved("s3+ddb://b/graph?ddbTableName=versions")
    assert str(storage.version_store) == "DynamoDB table versions"
    assert _resolved("s3://b/graph").version_store is None


@pytest.mark.parametrize(
    ("place", "given"),
    [
        ("s3://b/graph", "sqlite://relative.db"),
        ("s3://b/graph", "sqlite:///"),
        ("s3://b/graph", "/folder/versions.db"),
        ("s3://b/graph", ""),
        ("s3://b/graph", 7),
        ("s3+ddb://b/graph?ddbTableName=v", "sqlite:///v.db"),
        ("s3://b/graph", "s3+ddb://b/graph?ddbTableName=v"),
    ],
)
def test_what_cannot_be_one_is_refused(place: str, given: object) -> None:
    """By its name, with what to do."""
    with pytest.raises(InvalidStorageOptions) as raised:
        _resolved(place, version_store=given)
    assert raised.value.option == "version_store"


def test_local_disk_needs_none(tmp_path: Path) -> None:
    """It has locks."""
    with pytest.raises(InvalidStorageOptions, match="not needed"):
        Storage.resolve(tmp_path, {"version_store": "sqlite:///v.db"})
