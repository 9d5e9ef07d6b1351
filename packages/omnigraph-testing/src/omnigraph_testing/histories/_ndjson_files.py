"""Histories as files: one JSON object a line, an ``invoke`` and later, if it came, an answer.

Invariant: what ``write_history`` wrote, ``read_history`` gives back equal. A journal is such a
file, written by one process that may be killed at any byte: its last line may be torn.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from omnigraph_testing.errors import InvalidHistory
from omnigraph_testing.histories._history_model import (
    Append,
    Element,
    History,
    Key,
    MicroOp,
    Outcome,
    Read,
    Transaction,
)

__all__ = ["answer", "encode", "invocation", "read_history", "read_journals", "write_history"]

_ANSWERS = {outcome.value: outcome for outcome in Outcome}
_OTHER_VALUES = "expected an integer or a text"


def encode(event: dict[str, Any]) -> bytes:
    """Write one event as one line."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def invocation(
    number: int, ops: Iterable[MicroOp], *, process: str, at: int, branch: str | None
) -> dict[str, Any]:
    """Make the event that says: this is about to be sent."""
    event: dict[str, Any] = {"event": "invoke", "id": number, "process": process, "at": at}
    if branch is not None:
        event["branch"] = branch
    event["ops"] = [
        ["append", op.key, op.element] if isinstance(op, Append) else ["read", op.key] for op in ops
    ]
    return event


def answer(
    number: int, outcome: Outcome, *, at: int, ops: Iterable[MicroOp] = (), note: str = ""
) -> dict[str, Any]:
    """Make the event that says: this is what came of it. ``ops`` bring the values read."""
    event: dict[str, Any] = {"event": outcome.value, "id": number, "at": at}
    if outcome is Outcome.OK:
        event["values"] = [op.value if isinstance(op, Read) else None for op in ops]
    if note:
        event["note"] = note
    return event


def write_history(history: History, path: str | Path) -> None:
    """Write the events in the order in which they happened."""
    events: list[tuple[int, int, dict[str, Any]]] = []
    for one in history.transactions:
        begun = invocation(one.id, one.ops, process=one.process, at=one.invoked, branch=one.branch)
        events.append((one.invoked, 0, begun))
        if one.completed is not None:
            ended = answer(one.id, one.outcome, at=one.completed, ops=one.ops, note=one.note)
            events.append((one.completed, 1, ended))
    events.sort(key=lambda event: event[:2])
    with Path(path).open("wb") as file:
        file.writelines(encode(event) for _, _, event in events)


def read_history(path: str | Path) -> History:
    """Read what ``write_history`` wrote. The order of transactions is that of their invocation."""
    return History(_pair(_lines(Path(path), torn_end=False), str(path)))


def read_journals(directory: str | Path) -> History:
    """Join the journals ``*.ndjson`` of one run. Ids become 1, 2, 3… by time of invocation."""
    found: list[Transaction] = []
    for path in sorted(Path(directory).glob("*.ndjson")):
        found += _pair(_lines(path, torn_end=True), str(path))
    found.sort(key=lambda one: (one.invoked, one.process))
    return History(attrs.evolve(one, id=number) for number, one in enumerate(found, start=1))


def _lines(path: Path, *, torn_end: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidHistory(source=str(path), detail=f"cannot be read: {error}") from error
    lines = content.split(b"\n")
    rest = lines.pop()
    if rest and not torn_end:
        lines.append(rest)
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
        except ValueError as error:
            raise _bad(path, number, f"is not JSON ({error})") from error
        if not isinstance(event, dict):
            raise _bad(path, number, f"is {line[:40]!r}, expected an object")
        yield number, event


def _bad(source: str | Path, number: int, detail: str) -> InvalidHistory:
    return InvalidHistory(source=str(source), detail=f"line {number} {detail}")


def _pair(events: Iterable[tuple[int, dict[str, Any]]], source: str) -> list[Transaction]:
    transactions: dict[int, Transaction] = {}
    answered: set[int] = set()
    for number, event in events:
        try:
            kind, ident, at = event["event"], event["id"], event["at"]
            if kind == "invoke":
                if ident in transactions:
                    raise _bad(source, number, f"invokes {ident} a second time")
                transactions[ident] = Transaction(
                    ident,
                    tuple(_op(op) for op in event["ops"]),
                    outcome=Outcome.UNKNOWN,
                    process=event["process"],
                    invoked=at,
                    branch=event.get("branch"),
                )
                continue
            if ident not in transactions or ident in answered:
                raise _bad(source, number, f"answers {ident}, which is not waiting for an answer")
            begun = transactions[ident]
            outcome = _ANSWERS[kind]
            answered.add(ident)
            transactions[ident] = attrs.evolve(
                begun,
                ops=_answered(begun.ops, event["values"]) if outcome is Outcome.OK else begun.ops,
                outcome=outcome,
                completed=at,
                note=event.get("note", ""),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _bad(source, number, f"is not an event of a history ({error!r})") from error
    return list(transactions.values())


def _op(raw: list[Any]) -> MicroOp:
    name, key = raw[0], _key(raw[1])
    if name == "append":
        return Append(key, _element(raw[2]))
    if name == "read":
        return Read(key)
    msg = f"no such operation: {name!r}"
    raise ValueError(msg)


def _answered(ops: tuple[MicroOp, ...], values: list[Any]) -> tuple[MicroOp, ...]:
    if len(ops) != len(values):
        msg = f"{len(values)} values for {len(ops)} operations"
        raise ValueError(msg)
    return tuple(
        Read(op.key, tuple(map(_element, value))) if isinstance(op, Read) else op
        for op, value in zip(ops, values, strict=True)
    )


def _key(raw: Any) -> Key:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, list) and all(isinstance(part, str) for part in raw):
        return tuple(raw)
    msg = f"a key is a text or a list of texts, found {raw!r}"
    raise TypeError(msg)


def _element(raw: Any) -> Element:
    if isinstance(raw, (int, str)) and not isinstance(raw, bool):
        return raw
    msg = f"{_OTHER_VALUES}, found {raw!r}"
    raise TypeError(msg)
