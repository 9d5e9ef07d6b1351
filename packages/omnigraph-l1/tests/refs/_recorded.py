"""Refs whose calls are recorded, so that ``check_refs`` can judge what several processes were told.

Always: an error is recorded as what it promises: a conflict did not happen, and shows what it found
where it says so; anything else than a conflict is unknown. Each write has an id of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from campaign.refs import (
    ABSENT,
    RefAction,
    RefAnswer,
    RefCall,
    RefRecorder,
    check_refs,
    read_ref_journals,
)
from omnigraph_l1 import JsonRefs, Ref, new_ulid
from omnigraph_l1.errors import RefChanged, RefExists, RefNotFound
from omnigraph_testing.histories import Outcome

__all__ = ["RecordedRefs", "judged"]


class RecordedRefs:
    """One ref of a store, read and changed under a name, by one process or thread."""

    def __init__(self, refs: JsonRefs, name: str, journals: Path | str, who: str) -> None:
        self._refs = refs
        self._name = name
        self._recorder = RefRecorder(Path(journals) / f"{who}.ndjson", who)

    def read(self) -> Ref | None:
        """Read the ref, and record what was found."""
        found: list[Ref | None] = []

        def get() -> RefAnswer:
            found.append(self._refs.get(self._name))
            return RefAnswer(Outcome.OK, _id_of(found[0]))

        self._recorder.call(RefAction.GET, self._name, get)
        return found[0] if found else None

    def create(self, value: dict[str, object]) -> Outcome:
        """Create it, and tell what is known of that."""
        write_id = new_ulid()
        return self._call(
            RefAction.CREATE,
            lambda: self._refs.create(self._name, value, write_id=write_id),
            wrote=write_id,
        )

    def replace(self, ref: Ref, value: dict[str, object]) -> Outcome:
        """Replace it, and tell what is known of that."""
        write_id = new_ulid()
        return self._call(
            RefAction.REPLACE,
            lambda: self._refs.replace(ref, value, write_id=write_id),
            wrote=write_id,
            expected=ref.write_id,
        )

    def delete(self, ref: Ref) -> Outcome:
        """Delete it, and tell what is known of that."""
        return self._call(RefAction.DELETE, lambda: self._refs.delete(ref), expected=ref.write_id)

    def change(self, number: int) -> Outcome:
        """Read it and change it in some way, which ``number`` chooses."""
        ref = self.read()
        if ref is None:
            return self.create({"n": number})
        return self.delete(ref) if number % 4 == 3 else self.replace(ref, {"n": number})

    def _call(
        self,
        action: RefAction,
        do: Callable[[], object],
        *,
        wrote: str | None = None,
        expected: str | None = None,
    ) -> Outcome:
        def attempt() -> RefAnswer:
            try:
                do()
            except RefExists:
                return RefAnswer(Outcome.FAILED)
            except RefChanged as changed:
                return RefAnswer(Outcome.FAILED, changed.found)
            except RefNotFound:
                return RefAnswer(Outcome.FAILED, ABSENT)
            return RefAnswer(Outcome.OK)

        answer = self._recorder.call(action, self._name, attempt, wrote=wrote, expected=expected)
        return answer.outcome


def _id_of(ref: Ref | None) -> str:
    return ABSENT if ref is None else ref.write_id


def judged(journals: Path) -> list[RefCall]:
    """Read what was recorded, and fail with the contradiction if there is no order."""
    calls = read_ref_journals(journals)
    report = check_refs(calls)
    assert report.ok, str(report)
    return calls
