"""The refs of one directory, on any backend.

Always: a write that was acknowledged happened; one that raised anything but ``OutcomeUnknown`` did
not, and will not. A deleted ref is not there, whatever stays of it in the backend. No handle works
in a forked child. Values are never logged.

Not here: how a lost reply is settled (``settling``), how names and documents are written down
(``names``, ``document``), how each kind of store compares and sets (``local``, ``store``, …), and
which of them it is (``choosing``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import attrs

from omnigraph_l1._events import timed
from omnigraph_l1._places import Place, Storage
from omnigraph_l1._process import ProcessGuard
from omnigraph_l1._refs.backend import Backend, Mismatch, Unsettled
from omnigraph_l1._refs.choosing import backend_of
from omnigraph_l1._refs.document import Document, Ref, check_value, compose, parse
from omnigraph_l1._refs.memory import MemoryBackend
from omnigraph_l1._refs.names import check_prefix, decode_name, encode_name
from omnigraph_l1._refs.settling import Lost, Patience, settle
from omnigraph_l1._refs.store import StoreBackend
from omnigraph_l1._refs.tidying import OLD_ENOUGH, erase_tombstone, tidy
from omnigraph_l1._text import is_text, readable
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import (
    InvalidRequest,
    L1Error,
    OutcomeUnknown,
    RefChanged,
    RefExists,
    RefNotFound,
    StorageError,
)

__all__ = ["JsonRefs"]

_READERS = 8
_DURABILITIES = ("full", "none")


@attrs.frozen(eq=False)
class JsonRefs:
    """Small JSON documents by name, in one directory. Make one with ``open`` or ``in_memory``."""

    place: str
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
        where: str | os.PathLike[str] | Place | Storage,
        directory: str = "",
        *,
        durability: str = "full",
        reuse_names: bool = True,
    ) -> JsonRefs:
        """Give the refs in ``directory`` below a place. Nothing is read, made or asked for yet.

        ``durability`` is ``full`` or ``none``, and counts on local disk only. Where a name is never
        used again after it was deleted (a ULID), ``reuse_names=False`` leaves nothing of it in a
        store that can delete conditionally.
        """
        storage = Storage.resolve(where)
        root = storage.place
        kind = getattr(durability, "value", durability)
        if kind not in _DURABILITIES:
            reason = f"durability is 'full' or 'none', not {durability!r}"
            raise InvalidRequest(place=str(root), reason=reason)
        recipe = (storage, directory, kind, reuse_names)
        backend = backend_of(storage, directory, flush=kind == "full")
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
        """Give refs that are in this process only, for tests."""
        guard = ProcessGuard("JsonRefs.in_memory()")
        return cls("memory", backend=MemoryBackend(), recipe=None, guard=guard)

    def get(self, name: str) -> Ref | None:
        """Read a ref, or None where there is none of that name."""
        self._guard.check()
        found = self._look(name, encode_name(name))
        return None if found is None or found.deleted else _ref(name, found)

    def create(self, name: str, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Make a ref where there is none; ``RefExists`` where there is one.

        ``write_id``, if given, must never have been used before.
        """
        self._guard.check()
        encode_name(name)
        text = check_value(self.place, name, value)
        written_as = self._write_id(write_id)
        with timed("refs.create", place=self.place, name=name, write_id=written_as):
            before: Document | None = None
            while True:
                made = self._written(name, text, written_as, before)
                if isinstance(made, Ref):
                    return made
                if made.found is None or not made.found.deleted or made.found == before:
                    raise RefExists(place=self.place, name=name)
                before = made.found

    def replace(self, ref: Ref, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Change a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``.

        ``write_id``, if given, must never have been used before.
        """
        self._guard.check()
        self._check_ref(ref)
        text = check_value(self.place, ref.name, value)
        written_as = self._write_id(write_id)
        with timed("refs.replace", place=self.place, name=ref.name, write_id=written_as):
            made = self._written(ref.name, text, written_as, _document(ref))
            if isinstance(made, Lost):
                raise self._changed(ref, made.found)
            return made

    def delete(self, ref: Ref) -> None:
        """Delete a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""
        self._guard.check()
        self._check_ref(ref)
        file_name = encode_name(ref.name)
        with timed("refs.delete", place=self.place, name=ref.name):
            if not self._backend.keeps_tombstones:
                self._remove(ref, file_name)
                return
            made = self._written(ref.name, "{}", new_ulid(), _document(ref), deleted=True)
            if isinstance(made, Lost):
                raise self._changed(ref, made.found)
            if not self._reuse_names:
                self._erase(file_name, made._token)  # noqa: SLF001

    def list(self, prefix: str = "") -> tuple[Ref, ...]:
        """Read every ref whose name starts with ``prefix``, by name.

        One that is made, changed or deleted meanwhile is in it as it was at some moment, or not.
        What was listed before, and was not written since, is not read again.
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
        """Name what is there, without reading it: also what cannot be read.

        In a store, some of them may have been deleted: ``get`` tells.
        """
        self._guard.check()
        check_prefix(prefix)
        found = (decode_name(file_name) for file_name in self._backend.marks())
        return tuple(sorted(name for name in found if name is not None and name.startswith(prefix)))

    def written_at(self) -> dict[str, datetime]:
        """Tell when each ref was last written, by the clock of what keeps them."""
        self._guard.check()
        found = ((decode_name(file), moment) for file, moment in self._backend.ages().items())
        return {name: moment for name, moment in found if name is not None}

    def wrote(self, name: str, write_id: str) -> bool:
        """Tell whether the ref, or what a deleted one left, remembers a write: then it happened.

        Where it does not, the write did not happen, or is long past, or is still on its way to
        the store, which takes seconds.
        """
        self._guard.check()
        found = self._look(name, encode_name(name))
        return found is not None and write_id in found.writes

    def probe(self) -> None:
        """Raise ``UnsafeStore`` where conditional writes or locks are not honoured. Cheap."""
        self._guard.check()
        with timed("refs.probe", place=self.place):
            self._backend.probe()

    def tidy(self, older_than: timedelta = OLD_ENOUGH) -> int:
        """Remove what deleted refs and killed probes have left in a store; give how many.

        Only what is older than an hour, at the least, and only in stores that can delete
        conditionally. On local disk there is nothing to remove.
        """
        self._guard.check()
        if not isinstance(self._backend, StoreBackend):
            return 0
        with timed("refs.tidy", place=self.place) as event:
            event["removed"] = removed = tidy(self._backend, older_than)
        return removed

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            reason = "refs in memory cannot be sent to another process"
            raise InvalidRequest(place=self.place, reason=reason)
        return _open_again, self._recipe

    def _write_id(self, given: str | None) -> str:
        if given is None:
            return new_ulid()
        if given and is_text(given):
            return given
        reason = f"the id of a write is text that was never used before, not {readable(given)!r}"
        raise InvalidRequest(place=self.place, reason=reason)

    def _check_ref(self, given: Any) -> None:
        if not isinstance(given, Ref):
            reason = f"expected a Ref, as 'get' gives it, found {type(given).__name__}"
            raise InvalidRequest(place=self.place, reason=reason)

    def _look(self, name: str, file_name: str) -> Document | None:
        stored = self._backend.read(file_name)
        return None if stored is None else parse(self.place, name, stored.data, stored.token)

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
            # Whoever wrote after it was listed left another mark: then it is read again. Another
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

    def _written(
        self,
        name: str,
        text: str,
        write_id: str,
        before: Document | None,
        *,
        deleted: bool = False,
    ) -> Ref | Lost:
        file_name = encode_name(name)
        data = compose(text, write_id=write_id, before=before, deleted=deleted)
        expected = None if before is None else before.token
        outcome = settle(
            lambda: self._backend.write(file_name, data, expected),
            lambda: self._look(name, file_name),
            place=self.place,
            write_id=write_id,
            before=before,
            patience=Patience(self._backend.attempts, self._backend.seconds),
        )
        if isinstance(outcome, Lost):
            return outcome
        return _ref(name, parse(self.place, name, data, outcome.token))

    def _remove(self, ref: Ref, file_name: str) -> None:
        before = _document(ref)
        try:
            self._backend.remove(file_name, before.token)
        except Mismatch as refusal:
            raise self._changed(ref, self._look(ref.name, file_name)) from refusal
        except Unsettled as lost:
            raise OutcomeUnknown(
                place=self.place, write_id=ref.write_id, detail=f"deleting it: {lost.cause.detail}"
            ) from lost.cause

    def _erase(self, file_name: str, token: str) -> None:
        """Leave nothing of a ref whose name is never used again."""
        if isinstance(self._backend, StoreBackend):
            erase_tombstone(self._backend, file_name, token)
            return
        with suppress(Mismatch, Unsettled, StorageError):
            self._backend.remove(file_name, token)

    def _changed(self, ref: Ref, found: Document | None) -> L1Error:
        if found is None or found.deleted:
            return RefNotFound(place=self.place, name=ref.name)
        return RefChanged(
            place=self.place, name=ref.name, expected=ref.write_id, found=found.write_id
        )


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
