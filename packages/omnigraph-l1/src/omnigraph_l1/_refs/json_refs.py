"""The refs of one directory, on any backend.

Invariant: a write that was acknowledged happened; one that raised anything but ``OutcomeUnknown``
did not, and will not. A deleted ref is not there, whatever stays of it in the backend. No handle
works in a forked child. Values are never logged.

``RefStore`` is what every store of refs does, for those who write their own.

Not here: how a lost reply is resolved (``conditional_write``), how names and documents are encoded
(``ref_document``), how each kind of store compares and sets (``local_backend``, …).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable

import attrs

from omnigraph_l1._events import time_event
from omnigraph_l1._refs.conditional_write import LostRace, write_conditionally
from omnigraph_l1._refs.dynamodb_backend import DynamoBackend
from omnigraph_l1._refs.local_backend import LocalBackend
from omnigraph_l1._refs.memory_backend import MemoryBackend
from omnigraph_l1._refs.object_backend import StoreBackend, probe_store_once
from omnigraph_l1._refs.ref_backend import Backend, ConditionFailed, ReplyLost
from omnigraph_l1._refs.ref_document import (
    Document,
    Ref,
    check_prefix,
    check_value,
    compose,
    decode_name,
    encode_name,
    parse,
)
from omnigraph_l1._refs.tombstone_cleanup import OLD_ENOUGH, erase_tombstone, tidy
from omnigraph_l1._storage.location import Location, ProcessGuard, Storage
from omnigraph_l1._text_encoding import is_text, new_ulid, readable
from omnigraph_l1.deadlines import RetryPolicy, wait_seconds
from omnigraph_l1.errors import (
    InvalidRequest,
    L1Error,
    OutcomeUnknown,
    RefChanged,
    RefExists,
    RefNotFound,
    StorageError,
)

__all__ = ["JsonRefs", "RefStore"]

_READERS = 8
_FIRST_PAUSE = 0.1
_DURABILITIES = ("full", "none")


@runtime_checkable
class RefStore(Protocol):
    """Small JSON documents by name. Each change is atomic, and seen by every later read."""

    def get(self, name: str) -> Ref | None:
        """Read a ref, or None if there is none of that name."""

    def create(self, name: str, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Make a ref where there is none; ``RefExists`` if there is one."""

    def replace(self, ref: Ref, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Change a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""

    def delete(self, ref: Ref) -> None:
        """Delete a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""

    def list(self, prefix: str = "") -> tuple[Ref, ...]:
        """Read every ref whose name starts with ``prefix``, by name."""


@attrs.frozen(eq=False)
class JsonRefs:
    """Small JSON documents by name, in one directory. Make one with ``open`` or ``in_memory``."""

    location: str
    """Where they are."""
    _backend: Backend = attrs.field(repr=False, kw_only=True)
    _recipe: tuple[Any, ...] | None = attrs.field(repr=False, kw_only=True)
    _reuse_names: bool = attrs.field(repr=False, kw_only=True, default=True)
    _guard: ProcessGuard = attrs.field(repr=False, kw_only=True)
    _listed: dict[str, tuple[str, Document]] = attrs.field(factory=dict, init=False, repr=False)
    """What was read when they were listed, with the mark of that time."""

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str] | Location | Storage,
        directory: str = "",
        *,
        durability: str = "full",
        reuse_names: bool = True,
    ) -> JsonRefs:
        """Return the refs in ``directory`` below a location. Nothing is read or made yet.

        ``durability`` is ``full`` or ``none``, and counts on local disk only. Where a name is never
        used again after it was deleted (a ULID), ``reuse_names=False`` leaves nothing of it in a
        store that can delete conditionally.
        """
        storage = Storage.resolve(where)
        root = storage.location
        kind = getattr(durability, "value", durability)
        if kind not in _DURABILITIES:
            reason = f"invalid durability {durability!r}: expected 'full' or 'none'"
            raise InvalidRequest(location=str(root), reason=reason)
        recipe = (storage, directory, kind, reuse_names)
        backend = _backend_of(storage, directory, flush=kind == "full")
        if directory:
            storage = storage.child(directory)
        return cls(
            str(storage),
            backend=backend,
            recipe=recipe,
            reuse_names=reuse_names,
            guard=ProcessGuard(f"JsonRefs({storage})"),
        )

    @classmethod
    def in_memory(cls) -> JsonRefs:
        """Return refs that are in this process only, for tests."""
        guard = ProcessGuard("JsonRefs.in_memory()")
        return cls("memory", backend=MemoryBackend(), recipe=None, guard=guard)

    def get(self, name: str) -> Ref | None:
        """Read a ref, or None if there is none of that name."""
        self._guard.check()
        found = self._look(name, encode_name(name))
        return None if found is None or found.deleted else _ref(name, found)

    def create(self, name: str, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Make a ref where there is none; ``RefExists`` if there is one.

        ``write_id``, if given, must never have been used before.
        """
        self._guard.check()
        encode_name(name)
        text = check_value(self.location, name, value)
        written_as = self._write_id(write_id)
        with time_event("refs.create", location=self.location, name=name, write_id=written_as):
            before: Document | None = None
            while True:
                made = self._write(name, text, written_as, before)
                if isinstance(made, Ref):
                    return made
                if made.found is None or not made.found.deleted or made.found == before:
                    raise RefExists(location=self.location, name=name)
                before = made.found

    def replace(self, ref: Ref, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Change a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``.

        ``write_id``, if given, must never have been used before.
        """
        self._guard.check()
        self._check_ref(ref)
        text = check_value(self.location, ref.name, value)
        written_as = self._write_id(write_id)
        with time_event("refs.replace", location=self.location, name=ref.name, write_id=written_as):
            made = self._write(ref.name, text, written_as, _document(ref))
            if isinstance(made, LostRace):
                raise self._changed_error(ref, made.found)
            return made

    def delete(self, ref: Ref) -> None:
        """Delete a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""
        self._guard.check()
        self._check_ref(ref)
        file_name = encode_name(ref.name)
        with time_event("refs.delete", location=self.location, name=ref.name):
            if not self._backend.keeps_tombstones:
                self._remove(ref, file_name)
                return
            made = self._write(ref.name, "{}", new_ulid(), _document(ref), deleted=True)
            if isinstance(made, LostRace):
                raise self._changed_error(ref, made.found)
            if not self._reuse_names:
                self._erase(file_name, made._token)  # noqa: SLF001

    def list(self, prefix: str = "") -> tuple[Ref, ...]:
        """Read every ref whose name starts with ``prefix``, by name.

        One that is created, changed or deleted during this is listed as it was at some time, or
        not. What was listed before, and was not written since, is not read again.
        """
        self._guard.check()
        check_prefix(prefix)
        marks = self._backend.marks()
        for gone in self._listed.keys() - marks.keys():
            self._listed.pop(gone, None)
        named = {decode_name(file_name): file_name for file_name in marks}
        wanted = sorted(
            (name, file_name)
            for name, file_name in named.items()
            if name is not None and name.startswith(prefix)
        )
        found = self._look_at_all(wanted, marks)
        return tuple(
            _ref(name, document)
            for (name, _), document in zip(wanted, found, strict=True)
            if document is not None and not document.deleted
        )

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """Return the names of all refs, without reading them: also of those that cannot be read.

        In a store, some of them may have been deleted: ``get`` finds out.
        """
        self._guard.check()
        check_prefix(prefix)
        found = (decode_name(file_name) for file_name in self._backend.marks())
        return tuple(sorted(name for name in found if name is not None and name.startswith(prefix)))

    def written_at(self) -> dict[str, datetime]:
        """Return when each ref was last written, by the clock of what keeps them."""
        self._guard.check()
        found = ((decode_name(file), moment) for file, moment in self._backend.ages().items())
        return {name: moment for name, moment in found if name is not None}

    def wrote(self, name: str, write_id: str) -> bool:
        """Return whether the ref, or what a deleted one left, remembers a write: then it happened.

        Where it does not, the write did not happen, or is long past, or is still on its way to
        the store, which takes seconds.
        """
        self._guard.check()
        found = self._look(name, encode_name(name))
        return found is not None and write_id in found.writes

    def probe(self) -> None:
        """Raise ``UnsafeStore`` where conditional writes or locks are not honoured. Cheap."""
        self._guard.check()
        with time_event("refs.probe", location=self.location):
            self._backend.probe()

    def probe_once(self) -> None:
        """Do the same, but ask a store only if nothing in this process has asked it yet."""
        if isinstance(self._backend, StoreBackend):
            self._guard.check()
            probe_store_once(self._backend.storage)
        else:
            self.probe()

    def tidy(self, older_than: timedelta = OLD_ENOUGH) -> int:
        """Remove what deleted refs and killed probes have left in a store; return how many.

        Only what is older than an hour, at the least, and only in stores that can delete
        conditionally. On local disk there is nothing to remove.
        """
        self._guard.check()
        if not isinstance(self._backend, StoreBackend):
            return 0
        with time_event("refs.tidy", location=self.location) as event:
            event["removed"] = removed = tidy(self._backend, older_than)
        return removed

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            reason = "refs in memory cannot be sent to another process"
            raise InvalidRequest(location=self.location, reason=reason)
        return _open_again, self._recipe

    def _write_id(self, given: str | None) -> str:
        if given is None:
            return new_ulid()
        if given and is_text(given):
            return given
        reason = f"invalid write id {readable(given)!r}: expected text that was never used"
        raise InvalidRequest(location=self.location, reason=reason)

    def _check_ref(self, given: Any) -> None:
        if not isinstance(given, Ref):
            reason = (
                f"invalid ref of type {type(given).__name__}: expected a Ref, as 'get' returns it"
            )
            raise InvalidRequest(location=self.location, reason=reason)

    def _look(self, name: str, file_name: str) -> Document | None:
        stored = self._backend.read(file_name)
        return None if stored is None else parse(self.location, name, stored.data, stored.token)

    def _look_at_all(
        self, wanted: Sequence[tuple[str, str]], marks: Mapping[str, str | None]
    ) -> Sequence[Document | None]:
        found: dict[str, Document | None] = {}
        for _, file_name in wanted:
            mark, document = self._listed.get(file_name, (None, None))
            if document is not None and mark == marks[file_name]:
                found[file_name] = document
        unread = [each for each in wanted if each[1] not in found]
        for (_, file_name), document in zip(unread, self._read_all(unread), strict=True):
            found[file_name] = document
            # A write after it was listed left another mark: then it is read again. Another
            # program may write the same bytes again, which have the same mark in a store.
            mark = marks[file_name]
            if mark is not None and document is not None and document.is_ours:
                self._listed[file_name] = mark, document
        return [found[file_name] for _, file_name in wanted]

    def _read_all(self, wanted: Sequence[tuple[str, str]]) -> Sequence[Document | None]:
        if not self._backend.keeps_tombstones or len(wanted) <= 1:
            return [self._look(*each) for each in wanted]
        with ThreadPoolExecutor(min(_READERS, len(wanted))) as readers:
            return list(readers.map(lambda each: self._look(*each), wanted))

    def _write(
        self,
        name: str,
        text: str,
        write_id: str,
        before: Document | None,
        *,
        deleted: bool = False,
    ) -> Ref | LostRace:
        file_name = encode_name(name)
        data = compose(text, write_id=write_id, before=before, deleted=deleted)
        expected = None if before is None else before.token
        outcome = write_conditionally(
            lambda: self._backend.write(file_name, data, expected),
            lambda: self._look(name, file_name),
            location=self.location,
            write_id=write_id,
            before=before,
            policy=RetryPolicy(
                attempts=self._backend.attempts,
                seconds=wait_seconds(self._backend.seconds),
                first_pause=_FIRST_PAUSE,
            ),
        )
        if isinstance(outcome, LostRace):
            return outcome
        return _ref(name, parse(self.location, name, data, outcome.token))

    def _remove(self, ref: Ref, file_name: str) -> None:
        before = _document(ref)
        try:
            self._backend.remove(file_name, before.token)
        except ConditionFailed as refusal:
            raise self._changed_error(ref, self._look(ref.name, file_name)) from refusal
        except ReplyLost as lost:
            raise OutcomeUnknown(
                location=self.location,
                write_id=ref.write_id,
                detail=f"deleting it: {lost.cause.detail}",
            ) from lost.cause

    def _erase(self, file_name: str, token: str) -> None:
        """Leave nothing of a ref whose name is never used again."""
        if isinstance(self._backend, StoreBackend):
            erase_tombstone(self._backend, file_name, token)
            return
        with suppress(ConditionFailed, ReplyLost, StorageError):
            self._backend.remove(file_name, token)

    def _changed_error(self, ref: Ref, found: Document | None) -> L1Error:
        if found is None or found.deleted:
            return RefNotFound(location=self.location, name=ref.name)
        return RefChanged(
            location=self.location, name=ref.name, expected=ref.write_id, found=found.write_id
        )


def _backend_of(storage: Storage, directory: str, *, flush: bool) -> Backend:
    """Return the backend for a directory below a location; an empty name is the location itself."""
    location = storage.location
    if location.is_local:
        return LocalBackend(location.local_path, directory, flush=flush)
    if location.dynamodb_table:
        # One table serves several repositories: the name of a directory is its full location.
        whole = (location.scheme, location.bucket, location.key, directory)
        return DynamoBackend(storage, "/".join(part for part in whole if part))
    return StoreBackend(storage.child(directory) if directory else storage)


def _open_again(storage: Storage, directory: str, durability: str, reuse_names: bool) -> JsonRefs:  # noqa: FBT001
    return JsonRefs.open(storage, directory, durability=durability, reuse_names=reuse_names)


def _ref(name: str, document: Document) -> Ref:
    return Ref(
        name,
        write_id=document.write_id,
        earlier_writes=document.earlier_writes,
        text=document.text,
        token=document.token,
    )


def _document(ref: Ref) -> Document:
    return Document(
        text=ref._text,  # noqa: SLF001
        write_id=ref.write_id,
        earlier_writes=ref.earlier_writes,
        token=ref._token,  # noqa: SLF001
    )
