"""The calls of an obstore store, each as one request that rules can meet.

A reply whose body ends early matters where its body does: that of a GET is data, those of a LIST
and of a deletion must be read to be understood, that of a COPY need not be, PUT and HEAD have none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from omnigraph_testing._faults._operation import Operation
from omnigraph_testing._wrappers import _obstore_errors as errors
from omnigraph_testing._wrappers._call import Call
from omnigraph_testing._wrappers._obstore_results import ReadObject
from omnigraph_testing._wrappers._outcome import Outcome

if TYPE_CHECKING:
    from obstore import Bytes, GetOptions, GetResult, ListResult, ObjectMeta, PutResult
    from obstore.store import ObjectStore

__all__ = [
    "Copy",
    "Delete",
    "Get",
    "GetRange",
    "GetRanges",
    "Head",
    "List",
    "ListWithDelimiter",
    "Put",
    "Rename",
]

T = TypeVar("T")

CONDITIONS = ("if_match", "if_none_match", "if_modified_since", "if_unmodified_since")


@attrs.frozen(kw_only=True)
class StoreCall(Call[T]):
    """A call of an obstore store."""

    store: ObjectStore
    operation: Operation

    def status_of(self, error: Exception | None) -> int:
        """Give the status of S3."""
        return errors.status_of(error)

    def unreached(self) -> Exception:
        """Give what obstore raises where nothing listens."""
        return errors.connection_error(self.operation, connected=False)

    def refused(self) -> Exception:
        """Give what obstore raises for a reset."""
        return errors.connection_error(self.operation)

    def lost(self) -> Exception:
        """Give what obstore raises for a reset, which may come after the effect."""
        return errors.connection_error(self.operation)

    def answered(self, status: int, made: Outcome[T] | None) -> Outcome[T]:  # noqa: ARG002
        """Give what obstore raises for that status, whether it had its effect or not."""
        return Outcome(error=errors.answer_error(self.operation, status), status=status)

    def is_longer(self, made: Outcome[T], keep: int) -> bool:  # noqa: ARG002
        """Tell whether there is a body to cut: that of an error always is, and a document."""
        return made.error is not None and self.operation.method != "HEAD"

    def shortened(self, made: Outcome[T], keep: int, *, silent: bool) -> Outcome[T]:
        """Give what obstore makes of a reply that ends early."""
        if made.error is None:
            return self.shortened_value(made, keep, silent=silent)
        return made if silent else self.broken(made)

    @abstractmethod
    def shortened_value(self, made: Outcome[T], keep: int, *, silent: bool) -> Outcome[T]:
        """Give what obstore makes of the reply to a request that succeeded."""

    def broken(self, made: Outcome[T], *, unreadable: bool = False) -> Outcome[T]:
        """Give what obstore raises for a reply that broke off."""
        error = errors.body_error(self.operation, unreadable=unreadable)
        return Outcome(error=error, status=made.status)


class _NoBody(StoreCall[T]):
    def shortened_value(
        self,
        made: Outcome[T],
        keep: int,  # noqa: ARG002
        *,
        silent: bool,  # noqa: ARG002
    ) -> Outcome[T]:
        return made


class _Document(StoreCall[T]):
    def is_longer(self, made: Outcome[T], keep: int) -> bool:  # noqa: ARG002
        return True

    def shortened_value(
        self,
        made: Outcome[T],
        keep: int,  # noqa: ARG002
        *,
        silent: bool,
    ) -> Outcome[T]:
        return self.broken(made, unreadable=silent)


class _Unread(StoreCall[T]):
    def is_longer(self, made: Outcome[T], keep: int) -> bool:  # noqa: ARG002
        return True

    def shortened_value(
        self,
        made: Outcome[T],
        keep: int,  # noqa: ARG002
        *,
        silent: bool,
    ) -> Outcome[T]:
        return made if silent else self.broken(made)


@attrs.frozen(kw_only=True)
class Put(_NoBody["PutResult"]):
    """Write an object."""

    body: bytes = attrs.field(repr=False)
    how: dict[str, Any]

    def do(self, *, conditions: bool = True, keep: int | None = None) -> PutResult:
        """Put the first ``keep`` bytes."""
        how = self.how if conditions else {**self.how, "mode": "overwrite"}
        return self.store.put(self.operation.key, self.body[:keep], **how)


@attrs.frozen(kw_only=True)
class Head(_NoBody["ObjectMeta"]):
    """Ask about an object."""

    def do(self, *, conditions: bool = True, keep: int | None = None) -> ObjectMeta:  # noqa: ARG002
        """Ask."""
        return self.store.head(self.operation.key)


@attrs.frozen(kw_only=True)
class Get(StoreCall["GetResult | ReadObject"]):
    """Read an object."""

    options: GetOptions | None

    def do(
        self,
        *,
        conditions: bool = True,
        keep: int | None = None,  # noqa: ARG002
    ) -> GetResult | ReadObject:
        """Read, with or without the conditions among the options."""
        options: Any = dict(self.options or {})
        if not conditions:
            options = {name: value for name, value in options.items() if name not in CONDITIONS}
        return self.store.get(self.operation.key, options=options)

    def size_of(self, value: GetResult | ReadObject) -> int:
        """Give the bytes that were asked for."""
        start, end = value.range
        return end - start

    def is_longer(self, made: Outcome[GetResult | ReadObject], keep: int) -> bool:
        """Tell by the bytes that were asked for."""
        if made.value is None:
            return True
        return self.size_of(made.value) > keep

    def shortened_value(
        self, made: Outcome[GetResult | ReadObject], keep: int, *, silent: bool
    ) -> Outcome[GetResult | ReadObject]:
        """Give a result that ends early: with an error when it is read, or as if it were whole."""
        assert made.value is not None  # noqa: S101
        meta, span = made.value.meta, made.value.range
        kept = bytes(made.value.bytes())[:keep]
        if silent and span == (0, meta["size"]):  # the length is told nowhere else
            meta, span = {**meta, "size": len(kept)}, (0, len(kept))
        read = ReadObject(
            meta=meta,
            attributes=made.value.attributes,
            range=span,
            data=kept,
            error=None if silent else self.broken(made).error,
        )
        return attrs.evolve(made, value=read)


@attrs.frozen(kw_only=True)
class GetRange(StoreCall["Bytes"]):
    """Read a part of an object."""

    span: dict[str, int | None]

    def do(self, *, conditions: bool = True, keep: int | None = None) -> Bytes:  # noqa: ARG002
        """Read."""
        return self.store.get_range(self.operation.key, **self.span)  # type: ignore[arg-type]

    def size_of(self, value: Bytes) -> int:
        """Give the bytes that came."""
        return len(value)

    def is_longer(self, made: Outcome[Bytes], keep: int) -> bool:
        """Tell by the bytes that came."""
        return made.value is None or len(made.value) > keep

    def shortened_value(self, made: Outcome[Bytes], keep: int, *, silent: bool) -> Outcome[Bytes]:
        """Give fewer bytes, or an error."""
        assert made.value is not None  # noqa: S101
        return attrs.evolve(made, value=made.value[0:keep:1]) if silent else self.broken(made)


@attrs.frozen(kw_only=True)
class GetRanges(StoreCall["list[Bytes]"]):
    """Read some parts of an object, as one request."""

    starts: Sequence[int]
    how: dict[str, Any]

    def do(self, *, conditions: bool = True, keep: int | None = None) -> list[Bytes]:  # noqa: ARG002
        """Read."""
        return self.store.get_ranges(self.operation.key, starts=self.starts, **self.how)

    def size_of(self, value: list[Bytes]) -> int:
        """Give the bytes that came."""
        return sum(map(len, value))

    def is_longer(self, made: Outcome[list[Bytes]], keep: int) -> bool:
        """Tell by the bytes from the first start on to the last end."""
        if made.value is None:
            return True
        return any(
            len(part) > most for part, most in zip(made.value, self._room(keep), strict=True)
        )

    def _room(self, keep: int) -> list[int]:
        return [min(self.starts, default=0) + keep - start for start in self.starts]

    def shortened_value(
        self, made: Outcome[list[Bytes]], keep: int, *, silent: bool
    ) -> Outcome[list[Bytes]]:
        """Give what is within the first ``keep`` bytes from the first start on, or an error."""
        parts, room = made.value or [], self._room(keep)
        if not silent or min(room) < 0:  # obstore itself panics at a part that begins beyond
            return self.broken(made)
        cut = [part[0:most:1] for part, most in zip(parts, room, strict=True)]
        return attrs.evolve(made, value=cut)


@attrs.frozen(kw_only=True)
class List(_Document["list[ObjectMeta]"]):
    """List all objects below a prefix."""

    prefix: str | None
    offset: str | None

    @property
    def question(self) -> Hashable:
        """The same prefix and offset."""
        return "list", self.operation.key, self.offset

    def do(self, *, conditions: bool = True, keep: int | None = None) -> list[ObjectMeta]:  # noqa: ARG002
        """List."""
        return list(self.store.list(self.prefix, offset=self.offset).collect())


@attrs.frozen(kw_only=True)
class ListWithDelimiter(_Document["ListResult[Sequence[ObjectMeta]]"]):
    """List the objects and the common prefixes of one directory."""

    prefix: str | None

    @property
    def question(self) -> Hashable:
        """The same prefix."""
        return "list_with_delimiter", self.operation.key

    def do(
        self,
        *,
        conditions: bool = True,  # noqa: ARG002
        keep: int | None = None,  # noqa: ARG002
    ) -> ListResult[Sequence[ObjectMeta]]:
        """List."""
        return self.store.list_with_delimiter(self.prefix)


@attrs.frozen(kw_only=True)
class Delete(_Document[None]):
    """Delete one object, or several at once. Over S3 it is a document that names them."""

    paths: str | Sequence[str]

    def is_torn_by(self, keep: int) -> bool:  # noqa: ARG002
        """Tell that a part of the document is none."""
        return True

    def do(self, *, conditions: bool = True, keep: int | None = None) -> None:  # noqa: ARG002
        """Delete."""
        self.store.delete(self.paths)


@attrs.frozen(kw_only=True)
class Copy(_Unread[None]):
    """Copy an object."""

    source: str
    overwrite: bool

    def do(self, *, conditions: bool = True, keep: int | None = None) -> None:  # noqa: ARG002
        """Copy."""
        self.store.copy(self.source, self.operation.key, overwrite=self.overwrite or not conditions)


@attrs.frozen(kw_only=True)
class Rename(Copy):
    """Rename an object of a store that does it in one step."""

    def do(self, *, conditions: bool = True, keep: int | None = None) -> None:  # noqa: ARG002
        """Rename."""
        overwrite = self.overwrite or not conditions
        self.store.rename(self.source, self.operation.key, overwrite=overwrite)
