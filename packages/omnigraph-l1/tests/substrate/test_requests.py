"""What each operation costs on S3, in requests. Not in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import lance
import pytest
from lance import LanceDataset, LanceOperation

from omnigraph_testing import FaultyS3

from ._support import append, commit, create, delete, merge, people, restore, staged, upsert

Cost = Callable[[Callable[[], Any]], dict[str, int]]


@pytest.fixture
def remote(faulty_s3: FaultyS3) -> LanceDataset:
    """Version 2 on S3, reached through the gateway: a and b in one fragment, c in another."""
    made = create(faulty_s3.uri("t"), "a", "b", options=faulty_s3.storage_options)
    return append(made, "c")


@pytest.fixture
def cost(faulty_s3: FaultyS3) -> Cost:
    """Count the requests of a call, by verb."""

    def count(call: Callable[[], Any]) -> dict[str, int]:
        faulty_s3.forget_requests()
        call()
        return dict(Counter(each.method for each in faulty_s3.requests))

    return count


def _open(dataset: LanceDataset, path: str = "", **options: Any) -> LanceDataset:
    return lance.dataset(
        dataset.uri + path, storage_options=dataset.initial_storage_options, **options
    )


def test_opening_costs_one_list_and_one_get(remote: LanceDataset, cost: Cost) -> None:
    """Opening: 1 LIST + 1 GET; at a version: 1 HEAD + 1 GET."""
    assert cost(lambda: _open(remote)) == {"LIST": 1, "GET": 1}
    assert cost(lambda: _open(remote, version=1)) == {"HEAD": 1, "GET": 1}


def test_a_shared_session_saves_the_manifest(remote: LanceDataset, cost: Cost) -> None:
    """With a session that knows the version, opening is 1 LIST, or 1 HEAD at a version."""
    session = remote.session()
    cost(lambda: _open(remote, session=session))
    assert cost(lambda: _open(remote, session=session)) == {"LIST": 1}
    assert cost(lambda: _open(remote, session=session, version=2)) == {"HEAD": 1}


def test_refreshing_costs_one_list(remote: LanceDataset, cost: Cost) -> None:
    """checkout_latest(): 1 LIST; 1 GET more where somebody else wrote the version."""
    assert cost(remote.checkout_latest) == {"LIST": 1}
    append(_open(remote), "d")
    assert cost(remote.checkout_latest) == {"LIST": 1, "GET": 1}
    append(remote, "e")
    assert cost(remote.checkout_latest) == {"LIST": 1}, "written in this session"


def test_asking_for_the_newest_number_costs_one_list(remote: LanceDataset, cost: Cost) -> None:
    """latest_version and version_refs(): 1 LIST; versions(): 1 GET more for each."""
    assert cost(lambda: remote.latest_version) == {"LIST": 1}
    assert cost(remote.version_refs) == {"LIST": 1}
    assert cost(remote.versions) == {"LIST": 1, "GET": 2}


def test_one_append_costs_one_list_and_three_puts(remote: LanceDataset, cost: Cost) -> None:
    """One append: 1 LIST + 3 PUT."""
    assert cost(lambda: append(remote, "d")) == {"LIST": 1, "PUT": 3}


def test_a_staged_append_costs_the_same(remote: LanceDataset, cost: Cost) -> None:
    """Staged: 1 PUT for the data, 1 LIST + 2 PUT for the commit, through a handle; a URI costs
    an opening more, each time.
    """
    written = staged(remote, "d")
    assert cost(lambda: staged(remote, "d")) == {"PUT": 1}
    assert cost(lambda: commit(remote, LanceOperation.Append(written))) == {"LIST": 1, "PUT": 2}
    options = remote.initial_storage_options
    by_uri = cost(
        lambda: commit(remote.uri, LanceOperation.Append(written), base=3, storage_options=options)
    )
    assert by_uri == {"LIST": 2, "GET": 1, "PUT": 2}


def test_a_commit_reads_each_version_that_it_has_not_seen(remote: LanceDataset, cost: Cost) -> None:
    """A rebase: 1 GET more for each version since the base that is not in the session."""
    operation = LanceOperation.Append(staged(remote, "z"))
    other = _open(remote)
    append(append(other, "d"), "e")
    assert cost(lambda: commit(remote, operation)) == {"LIST": 1, "GET": 2, "PUT": 2}


def test_a_merge_costs_the_same_as_an_append(remote: LanceDataset, cost: Cost) -> None:
    """One merge-insert: the same, and the GETs of the keys that it compares: one a fragment
    (a small one), once more for the one whose row it updates.
    """
    counts = cost(lambda: upsert(remote, "n"))
    assert counts == {"LIST": 1, "PUT": 3, "GET": counts["GET"]}
    assert 2 <= counts["GET"] <= 3
    update = cost(lambda: upsert(remote, "a"))
    assert (update["LIST"], update["PUT"]) == (1, 4), "a deletion file more"


def test_an_uncommitted_merge_only_writes_data(remote: LanceDataset, cost: Cost) -> None:
    """execute_uncommitted lists nothing and writes one file, two with deletions."""
    insert = cost(lambda: merge(remote).execute_uncommitted(people("n")))
    update = cost(lambda: merge(remote).execute_uncommitted(people("a")))
    assert {verb: insert[verb] for verb in insert if verb != "GET"} == {"PUT": 1}
    assert {verb: update[verb] for verb in update if verb != "GET"} == {"PUT": 2}


def test_a_delete_costs_one_list_and_three_puts(remote: LanceDataset, cost: Cost) -> None:
    """A delete: the GETs of the filter's columns, 1 LIST, and 3 PUT; 2 where a whole fragment
    goes.
    """
    part = cost(lambda: delete(remote, "a"))
    assert (part["LIST"], part["PUT"]) == (1, 3)
    whole = cost(lambda: delete(remote, "c"))
    assert (whole["LIST"], whole["PUT"]) == (1, 2)


def test_a_restore_costs_metadata_only(remote: LanceDataset, cost: Cost) -> None:
    """A restore of ours: 1 LIST + 2 PUT, and 1 HEAD + 1 GET for the old manifest."""
    fresh = _open(remote)
    assert cost(lambda: restore(fresh, 1)) == {"LIST": 1, "PUT": 2, "HEAD": 1, "GET": 1}


def test_reading_a_small_fragment_costs_one_get(remote: LanceDataset, cost: Cost) -> None:
    """Reading a small fragment: 1 GET each."""
    fresh = _open(remote)
    assert cost(fresh.to_table) == {"GET": 2}


def test_metadata_costs_nothing_more(remote: LanceDataset, cost: Cost) -> None:
    """count_rows without a filter, get_fragments, schema and get_version cost no request."""
    fresh = _open(remote)
    assert cost(fresh.count_rows) == {}
    assert cost(fresh.get_fragments) == {}
    assert cost(lambda: (fresh.schema, fresh.get_version(), fresh.config())) == {}


def test_taking_by_row_id_costs_one_get_a_fragment(remote: LanceDataset, cost: Cost) -> None:
    """Taking rows by id costs one GET for each small fragment that is hit."""
    assert cost(lambda: _open(remote)._take_rows([0])) == {"LIST": 1, "GET": 2}
    fresh = _open(remote)
    assert cost(lambda: fresh._take_rows([0, 1])) == {"GET": 1}
    assert cost(lambda: fresh._take_rows([0, 2])) == {"GET": 2}


def test_a_lookup_through_the_index(remote: LanceDataset, cost: Cost) -> None:
    """Looking up an id through the BTREE: 2 GET of the index and 1 of the data, then 1."""
    remote.create_scalar_index("id", "BTREE")
    fresh = _open(remote)
    assert cost(lambda: fresh.to_table(filter="id = 'a'")) == {"GET": 3}
    assert cost(lambda: fresh.to_table(filter="id = 'b'")) == {"GET": 1}


def test_creating_a_branch(remote: LanceDataset, cost: Cost) -> None:
    """create_branch: 1 LIST + 3 HEAD + 1 GET + 3 PUT."""
    fresh = _open(remote)
    found = cost(lambda: fresh.create_branch("x"))
    assert found == {"LIST": 1, "HEAD": 3, "GET": 1, "PUT": 3}


def test_opening_a_branch_costs_what_opening_costs(remote: LanceDataset, cost: Cost) -> None:
    """Opening a branch, by URI or from a handle: 1 LIST + 1 GET; an append there: 1 LIST + 3
    PUT.
    """
    remote.create_branch("x")
    assert cost(lambda: _open(remote, "/tree/x")) == {"LIST": 1, "GET": 1}
    fresh = _open(remote)
    assert cost(lambda: fresh.checkout_version(("x", None))) == {"LIST": 1, "GET": 1}
    branch = _open(remote, "/tree/x")
    assert cost(lambda: append(branch, "n")) == {"LIST": 1, "PUT": 3}


def test_listing_refs_costs_two_requests_each(remote: LanceDataset, cost: Cost) -> None:
    """branches.list() and tags.list(): 1 LIST and, for each ref, 1 HEAD + 1 GET."""
    for name in ("x", "y"):
        remote.create_branch(name)
        remote.tags.create(name)
    assert cost(remote.branches.list) == {"LIST": 1, "HEAD": 2, "GET": 2}
    assert cost(remote.tags.list) == {"LIST": 1, "HEAD": 2, "GET": 2}


def test_reading_a_transaction_costs_one_get(remote: LanceDataset, cost: Cost) -> None:
    """read_transaction of the version that is open: 1 GET; of another: 1 HEAD + 2 GET, or one GET
    less where the session knows its manifest.
    """
    fresh = _open(remote)
    assert cost(lambda: fresh.read_transaction(2)) == {"GET": 1}
    assert cost(lambda: fresh.read_transaction(1)) == {"HEAD": 1, "GET": 2}
    assert cost(lambda: remote.read_transaction(1)) == {"HEAD": 1, "GET": 1}


def test_no_hint_is_written_on_s3(remote: LanceDataset, faulty_s3: FaultyS3) -> None:
    """On S3 no hint is written or asked for."""
    _open(remote)
    assert not [request for request in faulty_s3.requests if "hint" in request.key]
