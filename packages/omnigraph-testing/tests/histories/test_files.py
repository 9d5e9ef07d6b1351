"""Histories as values and as files."""

from __future__ import annotations

import pickle
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings

from omnigraph_testing.errors import InvalidHistory
from omnigraph_testing.histories import (
    Append,
    History,
    Outcome,
    Read,
    Transaction,
    check,
    read_history,
    read_journals,
    write_history,
)
from omnigraph_testing.strategies import histories

from ._build import UNKNOWN, at, history


def by_id(found: History) -> list[Transaction]:
    """Put the transactions in the order of their ids."""
    return sorted(found.transactions, key=lambda one: one.id)


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(histories(keys=("x", ("main", "node:Ünï"))))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, good: History) -> None:
    """A history survives its file, and pickling, unchanged."""
    path = tmp_path_factory.mktemp("files") / "history.ndjson"
    write_history(good, path)
    assert by_id(read_history(path)) == by_id(good)
    assert pickle.loads(pickle.dumps(good)) == good


def test_a_bad_history_is_bad_again_when_it_is_replayed(tmp_path: Path) -> None:
    """The verdict on a file is the verdict on the history that was written to it."""
    bad = history("x= x+1", "x= x+2", ("x=1,2", at(5, 9, branch="b", note="n")), ("x+3", UNKNOWN))
    write_history(bad, tmp_path / "h.ndjson")
    assert check(read_history(tmp_path / "h.ndjson")) == check(bad)


def test_a_torn_journal_loses_its_last_line_alone(tmp_path: Path) -> None:
    """Wherever a journal is cut, what stands before the cut is read: a torn answer leaves an
    unknown transaction, a torn invocation leaves none.
    """
    whole = history(("x+1 y=", at(0, 1, process="p")), ("x=1", at(2, 3, process="p")))
    write_history(whole, tmp_path / "w0.ndjson")
    content = (tmp_path / "w0.ndjson").read_bytes()
    lines = [at for at, byte in enumerate(content) if byte == 10]
    for length in range(len(content) + 1):
        (tmp_path / "w0.ndjson").write_bytes(content[:length])
        found = read_journals(tmp_path).transactions
        ends = sum(end < length for end in lines)
        assert len(found) == (ends + 1) // 2
        assert sum(one.outcome is Outcome.OK for one in found) == ends // 2


def test_journals_are_joined_by_time(tmp_path: Path) -> None:
    """Transactions of several processes are numbered in the order in which they were sent."""
    write_history(history(("x+1", at(5, 6, process="a"))), tmp_path / "a.ndjson")
    write_history(history(("x+2", at(0, 9, process="b"))), tmp_path / "b.ndjson")
    found = read_journals(tmp_path).transactions
    assert [(one.id, one.process) for one in found] == [(1, "b"), (2, "a")]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("{", "line 1 is not JSON"),
        ("[]", "expected an object"),
        ('{"event":"ok","id":1,"at":3,"values":[]}', "not waiting"),
        ('{"event":"boo","id":1,"at":3}', "not waiting"),
        ('{"event":"invoke","id":1,"at":3}', "not an event"),
        (
            '{"event":"invoke","id":1,"at":3,"process":"p","ops":[["append","k",true]]}',
            "expected an integer or a text",
        ),
        ('{"event":"invoke","id":1,"at":3,"process":"p","ops":[["pop","k"]]}', "pop"),
        ('{"event":"invoke","id":1,"at":3,"process":"p","ops":[["read",3]]}', "a key is"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, content: str, word: str) -> None:
    """A file that is no history is refused with a typed error that names the file and the line."""
    path = tmp_path / "h.ndjson"
    path.write_text(content)
    with pytest.raises(InvalidHistory, match=word) as caught:
        read_history(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that is not there is a typed error, too."""
    with pytest.raises(InvalidHistory, match=r"no\.ndjson"):
        read_history(tmp_path / "no.ndjson")


GOOD = Transaction(1, (Append("x", 1), Read("x", (1,))), process="p", invoked=0, completed=9)


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (attrs.evolve(GOOD, process="q"), "the id 1"),
        (attrs.evolve(GOOD, id=2, process="q"), "1 is appended to x by T1 and again by T2"),
        (attrs.evolve(GOOD, id=2, ops=(), invoked=5), "was not answered yet"),
        (attrs.evolve(GOOD, id=2, ops=(Read("x"),), process="q"), "has no value"),
        (attrs.evolve(GOOD, id=2, ops=(), process="q", completed=None), "no time of completion"),
        (attrs.evolve(GOOD, id=2, ops=(), process="q", invoked=10), "before it was invoked"),
        (
            attrs.evolve(GOOD, id=2, ops=(Read("x", ()),), process="q", outcome=Outcome.FAILED),
            "has a value",
        ),
    ],
)
def test_a_history_that_contradicts_itself_is_refused(other: Transaction, word: str) -> None:
    """Nothing that cannot be judged becomes a history, and the error says what is wrong."""
    with pytest.raises(InvalidHistory, match=word):
        History([GOOD, other])
