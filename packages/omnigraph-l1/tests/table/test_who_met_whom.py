"""A refused commit says which operation met which, whether trying again helps, and what it does."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import attrs
import pyarrow as pa
import pytest
from lance import LanceDataset
from people import rows

from omnigraph_l1 import Resolution, Table, TransactionKind, conflict
from omnigraph_l1.errors import CommitConflict

Act = Callable[[Table], object]
Kind = TransactionKind

ACTS: dict[str, Act] = {
    "append": lambda table: table.append(rows("n")),
    "delete": lambda table: table.delete("id = 'a'"),
    "upsert": lambda table: table.upsert(rows("a", age=2), key="id"),
    "overwrite": lambda table: table.overwrite(rows("o")),
    "restore": lambda table: table.restore(1),
    "compact": lambda table: table.compact(),
    "index": lambda table: table.create_index("age"),
    "drop": lambda table: table.drop_columns(["city"]),
    "add": lambda table: table.add_columns([pa.field("nick", pa.string())]),
    "configure": lambda table: table.configure({"k": "v"}),
}

MEETINGS = {
    ("append", "overwrite"): (Kind.APPEND, Kind.OVERWRITE, Resolution.INCOMPATIBLE),
    ("append", "restore"): (Kind.APPEND, Kind.RESTORE, Resolution.INCOMPATIBLE),
    ("delete", "delete"): (Kind.DELETE, Kind.DELETE, Resolution.RETRYABLE),
    ("delete", "compact"): (Kind.DELETE, Kind.REWRITE, Resolution.RETRYABLE),
    ("upsert", "delete"): (Kind.UPDATE, Kind.DELETE, Resolution.RETRYABLE),
    ("upsert", "add"): (Kind.UPDATE, Kind.MERGE, Resolution.RETRYABLE),
    ("compact", "upsert"): (Kind.REWRITE, Kind.UPDATE, Resolution.RETRYABLE),
    ("compact", "overwrite"): (Kind.RESERVE_FRAGMENTS, Kind.OVERWRITE, Resolution.INCOMPATIBLE),
    ("index", "compact"): (Kind.CREATE_INDEX, Kind.REWRITE, Resolution.RETRYABLE),
    ("drop", "drop"): (Kind.PROJECT, Kind.PROJECT, Resolution.RETRYABLE),
    ("add", "append"): (Kind.MERGE, Kind.APPEND, Resolution.RETRYABLE),
    ("configure", "configure"): (Kind.UPDATE_CONFIG, Kind.UPDATE_CONFIG, Resolution.INCOMPATIBLE),
}


@pytest.fixture
def two(local: Table) -> Table:
    """Rows in two fragments."""
    return local.append(rows("a", "b")).table.append(rows("c")).table


def refused(table: Table, act: Act) -> CommitConflict:
    """Act, and give the conflict."""
    with pytest.raises(CommitConflict) as caught:
        act(table)
    return caught.value


@pytest.mark.parametrize("meeting", MEETINGS, ids=" over ".join)
def test_both_operations_are_named(two: Table, meeting: tuple[str, str]) -> None:
    """With the version that the other one made. The specification knows of the conflict, too."""
    ours, theirs, resolution = MEETINGS[meeting]
    mine, other = meeting
    ACTS[other](two)
    told = refused(two, ACTS[mine])
    assert (told.ours, told.theirs, told.resolution) == (ours, theirs, resolution)
    assert told.retryable is (resolution is Resolution.RETRYABLE)
    assert conflict(ours, theirs) is resolution
    assert told.their_version is not None
    (record,) = two.refresh().at(told.their_version).history(limit=1)
    assert record.kind is theirs
    text = str(told)
    assert f"a commit of kind {theirs.value} in version {told.their_version}" in text
    assert resolution.advice in text
    assert ours.again in text
    assert attrs.asdict(pickle.loads(pickle.dumps(told))) == attrs.asdict(told)


def test_where_lance_names_nobody_only_one_can_be_meant(two: Table) -> None:
    """Of two commits in between, Lance does not say which changed the same rows; nor do we."""
    staged = two.stage_upsert(rows("a", age=3), key="id")
    newer = two.append(rows("x")).table
    newer.upsert(rows("a", age=2), key="id")
    told = refused(two, lambda table: table.commit(staged))
    assert told.ours is Kind.UPDATE
    assert (told.theirs, told.their_version) in {(None, None), (Kind.UPDATE, newer.version + 1)}


def test_an_overwrite_says_what_it_would_replace(two: Table) -> None:
    """It is refused before anything is committed, behind the head."""
    two.append(rows("x"))
    told = refused(two, lambda table: table.overwrite(rows("o")))
    assert (told.ours, told.theirs) == (Kind.OVERWRITE, None)
    assert "Computed again, it replaces what the other commit wrote, too." in str(told)


def test_an_exclusive_merge_says_what_it_is(two: Table) -> None:
    """Lance tells no more of it than that somebody else wrote, and to ask would be a request."""
    two.cas_merge(rows("k"), key="id", write_id="one")
    told = refused(two, lambda table: table.cas_merge(rows("k"), key="id", write_id="two"))
    assert (told.ours, told.theirs, told.attempts) == (Kind.UPDATE, None, 1)
    assert "met another commit:" in str(told)


@pytest.mark.parametrize("kind", TransactionKind)
def test_each_operation_says_what_trying_again_does(kind: TransactionKind) -> None:
    """In words that go on after "it"."""
    assert kind.again
    assert not kind.again.endswith(".")
    assert kind.again[0].islower()


OTHER_TEXTS = {
    "no names": "Too many concurrent writers. Attempted 0 retries.",
    "numbers": "Retryable commit conflict for version 3: This 1-2-3 transaction was preempted by "
    "concurrent transaction 7 (both modified rows)",
    "no operation": "Incompatible transaction: This Append transaction is incompatible with "
    "concurrent transaction Dance at version 3",
}


@pytest.mark.parametrize("text", OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_other_texts_name_no_other(
    local: Table, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Texts without both names, and names that are no operations."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(text)

    monkeypatch.setattr(LanceDataset, "commit", refuse)
    met = refused(local, ACTS["append"])
    assert (met.ours, met.theirs, met.their_version) == (Kind.APPEND, None, None)
