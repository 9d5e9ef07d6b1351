"""A store that carries out conditional puts although their condition does not hold."""

from __future__ import annotations

import pytest
from people import SCHEMA, rows
from unsafe_writers import WRITES, in_a_process

from omnigraph_l1 import Storage, Table, list_objects
from omnigraph_testing import FaultyS3, IgnoreConditions, Rule

pytestmark = pytest.mark.integration


@pytest.fixture
def storage(faulty_s3: FaultyS3) -> Storage:
    """A table with a row."""
    storage = Storage.resolve(faulty_s3.uri("t"), faulty_s3.storage_options)
    Table.create(storage, SCHEMA).append(rows("a"))
    return storage


@pytest.mark.parametrize("what", sorted({*WRITES} - {"read", "all"}))
def test_it_is_refused_before_the_first_write(
    storage: Storage, faulty_s3: FaultyS3, what: str
) -> None:
    """Two writers would both be acknowledged, and one of them lost."""
    faulty_s3.inject(Rule(IgnoreConditions(), "PUT"))
    before = len(faulty_s3.requests)
    assert in_a_process(storage, what) == "UnsafeStore"
    sent = [each.key for each in faulty_s3.requests[before:] if each.method == "PUT"]
    assert not [key for key in sent if "/_versions/" in key or "/_refs/tags/" in key]
    faulty_s3.clear()
    assert Table.open(storage).count() == 1


def test_reading_asks_nothing(storage: Storage, faulty_s3: FaultyS3) -> None:
    """What is there is as it was written."""
    faulty_s3.inject(Rule(IgnoreConditions(), "PUT"))
    before = len(faulty_s3.requests)
    assert in_a_process(storage, "read") == "nothing"
    assert "PUT" not in {each.method for each in faulty_s3.requests[before:]}


def test_a_process_asks_once(storage: Storage, faulty_s3: FaultyS3) -> None:
    """Whatever it writes: four puts of one object, of which two are refused; none is left."""
    before = len(faulty_s3.requests)
    assert in_a_process(storage, "all") == "nothing"
    probes = [each for each in faulty_s3.requests[before:] if "/.probe/" in each.key]
    assert [each.method for each in probes].count("PUT") == 4
    assert len({each.key for each in probes}) == 1
    assert not [each for each in list_objects(storage) if "/.probe/" in each.name]
