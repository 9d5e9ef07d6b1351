"""What real pylance does when each effect meets it. docs/testing/faulty-s3.md tells the same.

Tests that begin with "lance" pin what Lance does, not what we do: when a new version of it behaves
in another way they fail, and the documentation is to be mended.
"""

from __future__ import annotations

import threading
from typing import Any

import lance
import pyarrow as pa
import pytest

from omnigraph_testing import (
    Answer,
    Bandwidth,
    CutReply,
    CutRequest,
    Delay,
    Effect,
    FaultyS3,
    IgnoreConditions,
    Refuse,
    Rule,
    StaleListing,
    TruncateReply,
    TruncateRequest,
    Twice,
)

VERSION_FILE = "*/_versions/*"
DATA_FILE = "*/data/*"


def faulted(faulty: FaultyS3) -> list[str | None]:
    """Return the faults that met requests, in order."""
    return [each.fault for each in faulty.requests if each.fault]


@pytest.mark.parametrize("status", [500, 503])
def test_lance_retries_server_errors_of_every_request(
    faulty_s3: FaultyS3, table: Any, status: int
) -> None:
    """A 500 or a SlowDown that comes once is not noticed: listing, reading, data and commit."""
    for method, key in (("LIST", "*"), ("GET", "*"), ("PUT", DATA_FILE), ("PUT", VERSION_FILE)):
        faulty_s3.inject(Rule(Answer(status), method, key=key, times=1))
    assert table.append() == 2
    assert table.truth.count_rows() == 6
    assert faulted(faulty_s3) == ["Answer"] * 4


def test_lance_gives_up_on_a_store_that_always_fails(faulty_s3: FaultyS3, table: Any) -> None:
    """After its retries the commit is an OSError with S3's message, and nothing was committed."""
    rule = faulty_s3.inject(Rule(Answer(503), "PUT", key=VERSION_FILE))
    with pytest.raises(OSError, match="SlowDown"):
        table.append()
    assert rule.fired > 2  # more often than client_max_retries: Lance retries around its client
    assert table.versions() == [1]


def test_lance_does_not_take_an_untrue_conflict_for_true(faulty_s3: FaultyS3, table: Any) -> None:
    """Told 412 or 409 for a version that is not there, Lance looks, and commits it again."""
    for status in (412, 409):
        faulty_s3.inject(Rule(Answer(status), "PUT", key=VERSION_FILE, times=1))
    assert table.append() == 2
    assert table.truth.count_rows() == 6
    assert faulted(faulty_s3) == ["Answer", "Answer"]
    heads = [each for each in faulty_s3.requests if each.method == "HEAD"]
    assert {each.status for each in heads} == {404}


@pytest.mark.parametrize("effect", [Refuse(), CutRequest(), TruncateRequest(9)])
def test_lance_retries_a_cut_request_only_where_it_has_no_condition(
    faulty_s3: FaultyS3, table: Any, effect: Effect
) -> None:
    """A data file is put again; a version file is not, and the commit fails with an OSError."""
    faulty_s3.inject(Rule(effect, "PUT", key=DATA_FILE, times=1))
    assert table.append() == 2
    faulty_s3.clear()
    faulty_s3.inject(Rule(effect, "PUT", key=VERSION_FILE, times=1))
    with pytest.raises(OSError, match="error sending request"):
        table.append()
    assert table.versions() == [1, 2]
    assert faulted(faulty_s3) == [type(effect).__name__] * 2


@pytest.mark.parametrize("effect", [CutReply(), Answer(500, applied=True), Twice("second")])
def test_lance_tells_a_lost_reply_of_a_commit_apart(
    faulty_s3: FaultyS3, table: Any, effect: Effect
) -> None:
    """The version file is there and the reply says otherwise: Lance reads it and knows its own."""
    faulty_s3.inject(Rule(effect, "PUT", key=VERSION_FILE, times=1))
    assert table.append() == 2
    assert table.versions() == [1, 2]
    assert table.truth.count_rows() == 6
    met = next(each for each in faulty_s3.requests if each.fault)
    assert met.status != 200
    after = [each.method for each in faulty_s3.requests if each.number > met.number]
    assert after[-3:] == ["HEAD", "GET", "GET"]


@pytest.mark.parametrize("effect", [CutReply(), Answer(500, applied=True), Twice("second")])
def test_lance_puts_a_data_file_again_when_its_reply_is_lost(
    faulty_s3: FaultyS3, table: Any, effect: Effect
) -> None:
    """The same bytes under the same name: no row stands twice."""
    faulty_s3.inject(Rule(effect, "PUT", key=DATA_FILE, times=1))
    assert table.append() == 2
    assert table.truth.to_table()["a"].to_pylist() == [1, 2, 3, 1, 2, 3]


def test_lance_reports_a_commit_as_failed_that_lands_later(faulty_s3: FaultyS3, table: Any) -> None:
    """The outcome of an OSError at the commit is unknown, not "failed": the PUT may still land."""
    held = faulty_s3.hold("PUT", key=VERSION_FILE, cut=True)
    with pytest.raises(OSError, match="error sending request"):
        table.append()
    assert table.versions() == [1]
    held.release()
    faulty_s3.wait_until_idle()
    assert table.versions() == [1, 2]
    assert table.truth.count_rows() == 6


def test_lance_waits_as_long_as_its_timeout_option_says(faulty_s3: FaultyS3, table: Any) -> None:
    """A reply that comes after ``timeout`` is given up, and a read is asked again."""
    hold = faulty_s3.hold("GET", key=VERSION_FILE)
    options = {**table.options, "timeout": "2s", "client_max_retries": "5"}
    assert lance.dataset(table.uri, storage_options=options).version == 1
    hold.release()
    asked = [each for each in faulty_s3.requests if each.method == "GET"]
    assert len(asked) >= 2


def test_lance_waits_for_a_slow_store(faulty_s3: FaultyS3, table: Any) -> None:
    """A delay shorter than the time-out only costs time, wherever it stands."""
    faulty_s3.inject(Rule(Delay(0.2), "PUT", key=VERSION_FILE, times=1))
    faulty_s3.inject(Rule(Delay(0.2, at="after"), "PUT", key=DATA_FILE, times=1))
    assert table.append() == 2
    slow = [each for each in faulty_s3.requests if each.fault]
    assert [each.seconds is not None and each.seconds >= 0.2 for each in slow] == [True, True]


def test_lance_reads_through_a_thin_line(faulty_s3: FaultyS3, table: Any) -> None:
    """Bandwidth stretches a request by its size, not every request alike."""
    rows = pa.table({"a": list(range(20_000))})
    faulty_s3.inject(Rule(Bandwidth(100_000), "PUT", key=DATA_FILE))
    assert table.append(rows) == 2
    (slow,) = [each for each in faulty_s3.requests if each.fault]
    assert slow.seconds is not None
    assert slow.seconds >= slow.bytes_in / 100_000
    assert slow.bytes_in > 20_000


def test_lance_asks_for_the_rest_of_a_cut_reply(faulty_s3: FaultyS3, table: Any) -> None:
    """A reply that ends early is completed by a ranged GET, or asked again."""
    for method, key in (("LIST", "*"), ("GET", VERSION_FILE), ("GET", DATA_FILE)):
        faulty_s3.inject(Rule(TruncateReply(3), method, key=key, times=1))
    assert table.open().to_table().num_rows == 3
    assert faulted(faulty_s3) == ["TruncateReply"] * 3
    assert [each.status for each in faulty_s3.requests].count(206) == 2


@pytest.mark.parametrize(
    ("key", "error"), [(VERSION_FILE, ValueError), (DATA_FILE, pa.lib.ArrowInvalid)]
)
def test_lance_notices_a_reply_that_is_short_without_saying_so(
    faulty_s3: FaultyS3, table: Any, key: str, error: type[Exception]
) -> None:
    """It knows how long the file should be, does not ask again, and raises; never wrong rows."""
    faulty_s3.inject(Rule(TruncateReply(20, silent=True), "GET", key=key, times=1))
    with pytest.raises(error, match="Invalid range"):
        table.open().to_table()


def test_lance_commits_over_a_torn_data_file(faulty_s3: FaultyS3, table: Any) -> None:
    """A body that was torn on its way is not noticed at the commit, only by readers."""
    faulty_s3.inject(Rule(TruncateRequest(9, silent=True), "PUT", key=DATA_FILE, times=1))
    assert table.append() == 2
    with pytest.raises(pa.lib.ArrowInvalid, match="Invalid range"):
        table.truth.to_table()


def test_lance_cannot_open_a_torn_version_file(faulty_s3: FaultyS3, table: Any) -> None:
    """The writer hears of success; then the newest version does not open, an older one does."""
    faulty_s3.inject(Rule(TruncateRequest(9, silent=True), "PUT", key=VERSION_FILE, times=1))
    assert table.append() == 2
    with pytest.raises(ValueError, match="sufficient data"):
        table.open()
    assert table.open(version=1).count_rows() == 3


def test_lance_loses_a_commit_on_a_store_without_conditions(
    faulty_s3: FaultyS3, table: Any
) -> None:
    """Two writers put version 2, both are told that they won, and the rows of one are gone."""
    faulty_s3.inject(Rule(IgnoreConditions(), "PUT"))
    both = faulty_s3.hold("PUT", key=VERSION_FILE, times=2)
    won: list[int] = []
    writers = [
        threading.Thread(target=lambda rows=rows: won.append(table.append(rows)))
        for rows in (pa.table({"a": [10]}), pa.table({"a": [20]}))
    ]
    for writer in writers:
        writer.start()
    both.wait(count=2)
    both.release()
    for writer in writers:
        writer.join()
    assert won == [2, 2]
    assert sorted(table.truth.to_table()["a"].to_pylist()) in ([1, 2, 3, 10], [1, 2, 3, 20])


def test_lance_resolves_the_same_race_on_a_store_with_conditions(
    faulty_s3: FaultyS3, table: Any
) -> None:
    """The race of the test above, conditions honoured: versions 2 and 3, and all rows."""
    both = faulty_s3.hold("PUT", key=VERSION_FILE, times=2)
    won: list[int] = []
    writers = [
        threading.Thread(target=lambda rows=rows: won.append(table.append(rows)))
        for rows in (pa.table({"a": [10]}), pa.table({"a": [20]}))
    ]
    for writer in writers:
        writer.start()
    both.wait(count=2)
    both.release()
    for writer in writers:
        writer.join()
    assert sorted(won) == [2, 3]
    assert sorted(table.truth.to_table()["a"].to_pylist()) == [1, 2, 3, 10, 20]


def test_lance_opens_an_old_version_on_a_stale_listing(faulty_s3: FaultyS3, table: Any) -> None:
    """Without noticing; and a commit that is based on it collides, looks again, and lands."""
    table.open()
    faulty_s3.clear()
    lance.write_dataset(
        pa.table({"a": [9]}),
        table.uri,
        storage_options=faulty_s3.direct.storage_options,
        mode="append",
    )
    faulty_s3.inject(Rule(StaleListing(), "LIST", times=3))
    assert table.open().version == 1
    assert table.append(pa.table({"a": [10]})) == 3
    assert table.truth.to_table()["a"].to_pylist() == [1, 2, 3, 9, 10]
    refused = [each for each in faulty_s3.requests if each.status == 412]
    assert len(refused) == 1


def test_lance_fails_while_the_store_is_down(faulty_s3: FaultyS3, table: Any) -> None:
    """Refused connections are retried, then raised; what was open before works again after."""
    opened = table.open()
    with faulty_s3.down(), pytest.raises(OSError, match="error sending request"):
        lance.write_dataset(pa.table({"a": [4]}), opened, mode="append")
    assert lance.write_dataset(pa.table({"a": [4]}), opened, mode="append").version == 2


@pytest.mark.parametrize("status", [409, 412])
def test_lance_raises_an_untrue_conflict_of_a_data_file(
    faulty_s3: FaultyS3, table: Any, status: int
) -> None:
    """A plain put should have no conflict: it is not tried again, and nothing was committed."""
    faulty_s3.inject(Rule(Answer(status), "PUT", key=DATA_FILE))
    with pytest.raises(OSError, match="single PUT"):
        table.append()
    assert table.versions() == [1]


def test_lance_gives_up_a_commit_on_a_listing_that_stays_stale(
    faulty_s3: FaultyS3, table: Any
) -> None:
    """It is told 412 each time, raises "Commit conflict" after its retries, and loses nothing."""
    stale = table.open()
    lance.write_dataset(
        pa.table({"a": [9]}),
        table.uri,
        storage_options=faulty_s3.direct.storage_options,
        mode="append",
    )
    faulty_s3.inject(Rule(StaleListing(), "LIST"))
    staged = lance.fragment.write_fragments(
        pa.table({"a": [10]}), stale, storage_options=table.options
    )
    with pytest.raises(OSError, match="Commit conflict for version 2"):
        lance.LanceDataset.commit(
            stale,
            lance.LanceOperation.Append(staged),
            read_version=1,
            storage_options=table.options,
            max_retries=1,
        )
    assert table.truth.to_table()["a"].to_pylist() == [1, 2, 3, 9]


def test_lance_raises_a_value_error_when_it_cannot_open(faulty_s3: FaultyS3, table: Any) -> None:
    """Opening has an error class of its own, though the cause is the same."""
    with faulty_s3.down(), pytest.raises(ValueError, match="error sending request|list request"):  # noqa: RUF043
        table.open()


def test_lance_does_not_notice_what_is_delivered_twice(faulty_s3: FaultyS3, table: Any) -> None:
    """Data, transaction and version arrive twice: one version, with its rows once."""
    rule = faulty_s3.inject(Rule(Twice(), "PUT"))
    assert table.append() == 2
    assert rule.fired == 3
    assert table.versions() == [1, 2]
    assert table.truth.to_table()["a"].to_pylist() == [1, 2, 3, 1, 2, 3]


def test_lance_cannot_read_a_listing_that_is_short_without_saying_so(
    faulty_s3: FaultyS3, table: Any
) -> None:
    """It asks again for two seconds, then raises; once only, it is not noticed."""
    rule = faulty_s3.inject(Rule(TruncateReply(100, silent=True), "LIST", times=1))
    assert table.open().version == 1
    assert rule.fired == 1
    faulty_s3.inject(Rule(TruncateReply(100, silent=True), "LIST"))
    with pytest.raises(ValueError, match="list response"):
        table.open()


@pytest.mark.parametrize(
    ("effect", "then"),
    [(CutRequest(by="close"), [200]), (CutReply(by="close"), [412])],
    ids=["before", "after"],
)
def test_lance_sends_a_commit_again_where_the_connection_was_closed_in_order(
    faulty_s3: FaultyS3, table: Any, effect: Effect, then: list[int]
) -> None:
    """An end is not a reset: even the version file is put again, and is then found to be there."""
    faulty_s3.inject(Rule(effect, "PUT", key=VERSION_FILE, times=1))
    assert table.append() == 2
    assert table.versions() == [1, 2]
    puts = [
        each.status
        for each in faulty_s3.requests
        if "_versions" in each.key and each.operation.condition
    ]
    assert puts == [None, *then]
