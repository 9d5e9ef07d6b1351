"""Calls to a ref store: create, compare-and-swap, delete if equal, get. Every write has an id.

Invariant: a ``RefCall`` in hand says what its action needs. ``found`` is the write id that the
store showed, ``ABSENT`` if it showed that nothing is there, and None if it showed nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen

from omnigraph_testing.errors import InvalidHistory
from omnigraph_testing.histories._history_model import Outcome
from omnigraph_testing.histories._process_journal import Journal, note_of

__all__ = ["ABSENT", "RefAction", "RefAnswer", "RefCall", "RefRecorder", "read_ref_journals"]

ABSENT = ""


class RefAction(str, Enum):
    """What was asked of the ref store."""

    CREATE = "create"
    REPLACE = "replace"
    DELETE = "delete"
    GET = "get"


@frozen
class RefAnswer:
    """What the store answered: done or refused, and the write id it showed."""

    outcome: Outcome
    found: str | None = None


@frozen
class RefCall:
    """One call as its client saw it.

    ``wrote`` is the id of its own write, ``expected`` the id that it wanted to replace or delete.
    """

    id: int
    name: str
    action: RefAction = field(kw_only=True)
    outcome: Outcome = field(kw_only=True, default=Outcome.OK)
    process: str = field(kw_only=True)
    invoked: int = field(kw_only=True)
    completed: int | None = field(kw_only=True, default=None)
    wrote: str | None = field(kw_only=True, default=None)
    expected: str | None = field(kw_only=True, default=None)
    found: str | None = field(kw_only=True, default=None)
    note: str = field(kw_only=True, default="")

    def __attrs_post_init__(self) -> None:
        writes = self.action in (RefAction.CREATE, RefAction.REPLACE)
        compares = self.action in (RefAction.REPLACE, RefAction.DELETE)
        problem = None
        if bool(self.wrote) is not writes:
            problem = "its own write id" if writes else "no write id of its own"
        elif bool(self.expected) is not compares:
            problem = "the write id that it expects" if compares else "no expected write id"
        elif self.outcome is not Outcome.UNKNOWN and self.completed is None:
            problem = "a time of completion"
        elif self.completed is not None and self.completed < self.invoked:
            problem = "an end after its beginning"
        elif self.action is RefAction.GET and (self.outcome is Outcome.OK) is (self.found is None):
            problem = "what it found, if it is ok, and nothing otherwise"
        if problem:
            raise InvalidHistory(
                source="ref calls", detail=f"{self.action.value} {self.id} must have {problem}"
            )

    @property
    def ended(self) -> int | None:
        """The time by which its effect was certainly there or certainly never to come."""
        return None if self.outcome is Outcome.UNKNOWN else self.completed

    def __str__(self) -> str:
        said = {
            "writing": self.wrote,
            "expecting": self.expected,
            "finding": "nothing" if self.found == ABSENT else self.found,
        }
        words = "".join(f", {word} {value}" for word, value in said.items() if value)
        note = f" ({self.note})" if self.note else ""
        return (
            f"T{self.id} of {self.process}, {self.outcome.value}{note}: "
            f"{self.action.value} {self.name}{words}"
        )


class RefRecorder(Journal):
    """Records calls to a ref store, safely against SIGKILL at any moment."""

    def call(
        self,
        action: RefAction,
        name: str,
        do: Callable[[], RefAnswer],
        *,
        wrote: str | None = None,
        expected: str | None = None,
    ) -> RefAnswer:
        """Do it and record the answer. If ``do`` raises, the outcome counts as unknown."""
        number = self._next()
        asked = {"action": action.value, "name": name, "wrote": wrote, "expected": expected}
        begun = {"event": "invoke", "id": number, "process": self._process, "at": self._clock()}
        self._write(begun | asked)
        note = ""
        try:
            answer = do()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001  # a panic of a Rust library is no Exception
            answer, note = RefAnswer(Outcome.UNKNOWN), note_of(error)
        ended = {"event": answer.outcome.value, "id": number, "at": self._clock()}
        self._write(ended | {"found": answer.found, "note": note})
        return answer


def read_ref_journals(directory: str | Path) -> list[RefCall]:
    """Join the journals ``*.ndjson`` of one run. Ids become 1, 2, 3… by time of invocation."""
    calls: list[RefCall] = []
    for path in sorted(Path(directory).glob("*.ndjson")):
        lines = path.read_bytes().split(b"\n")[:-1]
        try:
            calls += _pair(map(json.loads, lines))
        except (KeyError, TypeError, ValueError) as error:
            detail = f"it is no journal of ref calls ({error!r})"
            raise InvalidHistory(source=str(path), detail=detail) from error
    calls.sort(key=lambda call: (call.invoked, call.process))
    return [attrs.evolve(call, id=number) for number, call in enumerate(calls, start=1)]


def _pair(events: Iterable[dict[str, Any]]) -> list[RefCall]:
    calls: dict[int, RefCall] = {}
    for event in events:
        if event["event"] == "invoke":
            calls[event["id"]] = RefCall(
                event["id"],
                event["name"],
                action=RefAction(event["action"]),
                outcome=Outcome.UNKNOWN,
                process=event["process"],
                invoked=event["at"],
                wrote=event["wrote"],
                expected=event["expected"],
            )
        else:
            calls[event["id"]] = attrs.evolve(
                calls[event["id"]],
                outcome=Outcome(event["event"]),
                completed=event["at"],
                found=event["found"],
                note=event["note"],
            )
    return list(calls.values())
