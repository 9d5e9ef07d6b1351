"""The moment of a power cut: what is safe on disk, and what is still on its way.

Pure: a snapshot, the operations up to the cut and a model go in. Always: what a sync that ended
before the cut covers is safe; everything else is pending, in its order.

Which of the pending things survive is chosen in ``power_cut``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs

from campaign.power_cuts.disk_models import DiskModel
from campaign.tracing.file_operations import (
    Create,
    Exchange,
    Link,
    Mark,
    Mkdir,
    Operation,
    Passed,
    Rename,
    Symlink,
    Sync,
    SyncAll,
    Truncate,
    Unlink,
    Write,
)

__all__ = ["Change", "Entry", "FileHistory", "Situation", "situations"]

DataOperation: TypeAlias = Write | Truncate


@attrs.frozen
class Entry:
    """A name in a directory, and the file that it stands for from now on (None: nothing)."""

    directory: int
    name: str
    file: int | None


@attrs.frozen(kw_only=True)
class Change:
    """Names that change together or not at all.

    ``needs`` is the position of a change without which this one cannot be on disk: the old name
    of a moved file never goes before the new one has come.
    """

    position: int
    entries: tuple[Entry, ...]
    label: str
    needs: int | None = None
    safe: bool = False


@attrs.frozen(kw_only=True)
class FileHistory:
    """What was done to one file's contents: the first ``safe`` of the operations are on disk."""

    path: str
    operations: tuple[DataOperation, ...] = ()
    safe: int = 0

    @property
    def pending(self) -> tuple[DataOperation, ...]:
        """What is still on its way."""
        return self.operations[self.safe :]


@attrs.frozen(kw_only=True)
class Situation:
    """Everything that is known at a cut."""

    cut: int
    last: Operation | None
    acknowledged: tuple[str, ...]
    changes: tuple[Change, ...]
    histories: Mapping[int, FileHistory]
    directories: frozenset[int]
    links: Mapping[int, str]

    @property
    def pending_changes(self) -> tuple[Change, ...]:
        """Changes of names that are still on their way."""
        return tuple(change for change in self.changes if not change.safe)

    @property
    def pending_files(self) -> tuple[int, ...]:
        """Files with contents still on their way."""
        return tuple(file for file, history in self.histories.items() if history.pending)


def situations(operations: Sequence[Operation], model: DiskModel) -> Iterable[Situation]:
    """Go through the operations and stop before the first and after each of them."""
    state = _State(model)
    yield state.situation(0, None)
    for cut, operation in enumerate(operations, start=1):
        state.apply(operation)
        yield state.situation(cut, operation)


class _State:
    """What has accumulated up to the operation that was applied last."""

    def __init__(self, model: DiskModel) -> None:
        self._model = model
        self._marks: list[str] = []
        self._changes: list[Change] = []
        self._histories: dict[int, FileHistory] = {}
        self._directories: set[int] = set()
        self._links: dict[int, str] = {}

    def situation(self, cut: int, last: Operation | None) -> Situation:
        return Situation(
            cut=cut,
            last=last,
            acknowledged=tuple(self._marks),
            changes=tuple(self._changes),
            histories=dict(self._histories),
            directories=frozenset(self._directories),
            links=dict(self._links),
        )

    def apply(self, operation: Operation) -> None:
        if isinstance(operation, Mark):
            self._marks.append(operation.text)
        elif isinstance(operation, Write | Truncate):
            history = self._histories.get(operation.file, FileHistory(path=operation.path))
            grown = (*history.operations, operation)
            self._histories[operation.file] = attrs.evolve(history, operations=grown)
        elif isinstance(operation, Sync | SyncAll):
            self._sync(None if isinstance(operation, SyncAll) else operation.file)
        elif not isinstance(operation, Passed):
            self._rename_things(operation)

    def _rename_things(
        self, operation: Create | Mkdir | Symlink | Link | Unlink | Rename | Exchange
    ) -> None:
        if isinstance(operation, Mkdir):
            self._directories.add(operation.file)
        if isinstance(operation, Symlink):
            self._links[operation.file] = operation.target
        entries = _entries(operation)
        together = len({entry.directory for entry in entries}) == 1
        if together or isinstance(operation, Exchange) or self._model.names_in_order:
            self._add(entries, str(operation), None)
            return
        arrival, departure = entries
        self._add((arrival,), str(operation), None)
        self._add((departure,), f"{operation} (the old name)", len(self._changes) - 1)

    def _add(self, entries: tuple[Entry, ...], label: str, needs: int | None) -> None:
        position = len(self._changes)
        self._changes.append(Change(position=position, entries=entries, label=label, needs=needs))

    def _sync(self, file: int | None) -> None:
        for number, history in self._histories.items():
            if file is None or number == file:
                everything = len(history.operations)
                self._histories[number] = attrs.evolve(history, safe=everything)
        names_too = file is None or self._model.any_sync_keeps_names
        for change in reversed(self._changes):
            if names_too or any(entry.directory == file for entry in change.entries):
                self._make_safe(change.position)

    def _make_safe(self, position: int | None) -> None:
        if position is not None and not self._changes[position].safe:
            change = self._changes[position]
            self._changes[position] = attrs.evolve(change, safe=True)
            self._make_safe(change.needs)


def _entries(
    operation: Create | Mkdir | Symlink | Link | Unlink | Rename | Exchange,
) -> tuple[Entry, ...]:
    if isinstance(operation, Unlink):
        return (Entry(operation.directory, operation.name, None),)
    if isinstance(operation, Rename | Exchange):
        left = operation.new_file if isinstance(operation, Exchange) else None
        return (
            Entry(operation.new_directory, operation.new_name, operation.file),
            Entry(operation.directory, operation.name, left),
        )
    return (Entry(operation.directory, operation.name, operation.file),)
