"""Results that obstore gives and that cannot be made in Python: stand-ins with the same methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import attrs

from omnigraph_testing._threads import in_thread

if TYPE_CHECKING:
    from obstore import Attributes, Bytes, ObjectMeta

__all__ = ["ListingStream", "ReadObject"]

DEFAULT_CHUNK = 10 * 1024 * 1024


@attrs.frozen(kw_only=True)
class ReadObject:
    """What ``obstore.GetResult`` is: an object that was read; with ``error``, not to its end."""

    meta: ObjectMeta
    attributes: Attributes
    range: tuple[int, int]
    _data: bytes = attrs.field(repr=False)
    _error: Exception | None = None

    def bytes(self) -> Bytes:
        """Return all of it."""
        import obstore  # noqa: PLC0415 - heavy, and only some tests use it

        if self._error is not None:
            raise self._error
        return obstore.Bytes(self._data)

    def buffer(self) -> Bytes:
        """Return all of it."""
        return self.bytes()

    async def bytes_async(self) -> Bytes:
        """Return all of it."""
        return self.bytes()

    async def buffer_async(self) -> Bytes:
        """Return all of it."""
        return self.bytes()

    def stream(self, min_chunk_size: int = DEFAULT_CHUNK) -> _Pieces:
        """Return it piece by piece."""
        step = max(1, min_chunk_size)
        pieces = [self._data[at : at + step] for at in range(0, len(self._data), step)]
        return _Pieces(iter(pieces), self._error)

    def __iter__(self) -> _Pieces:
        return self.stream()

    def __aiter__(self) -> _Pieces:
        return self.stream()


class _Pieces:
    def __init__(self, pieces: Iterator[bytes], error: Exception | None) -> None:
        self._pieces = pieces
        self._error = error

    def __iter__(self) -> _Pieces:
        return self

    def __aiter__(self) -> _Pieces:
        return self

    def __next__(self) -> bytes:
        for piece in self._pieces:
            return piece
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        raise StopIteration

    async def __anext__(self) -> bytes:
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None


class ListingStream:
    """What ``obstore.ListStream`` is: asks the store when the first of it is wanted."""

    def __init__(self, ask: Callable[[], list[ObjectMeta]], chunk_size: int) -> None:
        self._ask = ask
        self._chunk_size = max(1, chunk_size)
        self._rest: list[ObjectMeta] | None = None

    def collect(self) -> list[ObjectMeta]:
        """Return all that is left in one chunk."""
        return self._take(None)

    async def collect_async(self) -> list[ObjectMeta]:
        """Return all that is left in one chunk."""
        return await in_thread(self.collect)

    def __iter__(self) -> ListingStream:
        return self

    def __aiter__(self) -> ListingStream:
        return self

    def __next__(self) -> list[ObjectMeta]:
        chunk = self._take(self._chunk_size)
        if not chunk:
            raise StopIteration
        return chunk

    async def __anext__(self) -> list[ObjectMeta]:
        chunk = await in_thread(lambda: self._take(self._chunk_size))
        if not chunk:
            raise StopAsyncIteration
        return chunk

    def _take(self, most: int | None) -> list[ObjectMeta]:
        if self._rest is None:
            self._rest = []  # a listing that failed is over
            self._rest = self._ask()
        taken = self._rest[:most]
        self._rest = self._rest[len(taken) :]
        return taken
