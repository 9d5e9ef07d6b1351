"""``FaultyStore``: an obstore store with faults, without HTTP.

Always: the methods and their signatures are those of obstore's stores. It is not one of them:
obstore's module-level functions take its own Rust objects only, and raise ``ValueError`` for this,
so that nothing can slip past the rules unseen.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from omnigraph_testing._faults._operation import Operation
from omnigraph_testing._threads import in_thread
from omnigraph_testing._wrappers import _obstore_calls as calls
from omnigraph_testing._wrappers._obstore_results import ListingStream, ReadObject
from omnigraph_testing._wrappers._wrapper import Wrapper
from omnigraph_testing.errors import InvalidOption

if TYPE_CHECKING:
    from obstore import (
        Attributes,
        Bytes,
        GetOptions,
        GetResult,
        ListResult,
        ObjectMeta,
        PutMode,
        PutResult,
    )
    from obstore.store import ObjectStore

__all__ = ["FaultyStore"]

PART_BYTES = 5 * 1024 * 1024
GAP_BYTES = 1024 * 1024


class FaultyStore(Wrapper):
    """Any store of obstore, with the rules and levers of ``FaultyS3``.

    Each call is one request: ``GET``, ``HEAD``, ``PUT`` (an upload in parts, too), ``LIST``,
    ``COPY``, ``DELETE`` for one path and ``DELETE_MANY`` for several, ``RENAME`` on local disk and
    a ``COPY`` and a ``DELETE`` elsewhere. A caller waits for ``timeout`` seconds. ``direct`` is the
    wrapped store.
    """

    methods: ClassVar[frozenset[str]] = frozenset(
        ["GET", "HEAD", "PUT", "LIST", "COPY", "DELETE", "DELETE_MANY", "RENAME"]
    )

    def __init__(self, store: ObjectStore, *, timeout: float = 30.0) -> None:
        super().__init__(timeout)
        self.direct = store

    def __repr__(self) -> str:
        return f"FaultyStore({self.direct!r})"

    def put(
        self,
        path: str,
        file: IO[bytes] | Path | bytes | Iterable[Any],
        *,
        attributes: Attributes | None = None,
        tags: dict[str, str] | None = None,
        mode: PutMode | None = None,
        use_multipart: bool | None = None,
        chunk_size: int = PART_BYTES,
        max_concurrency: int = 12,
    ) -> PutResult:
        """Write an object, as ``obstore.put``."""
        body = _whole(file)
        condition = None
        if mode == "create":
            condition = "if-none-match: *"
        elif isinstance(mode, dict):
            condition = f"if-match: {mode.get('e_tag')}"
        how = {
            "attributes": attributes,
            "tags": tags,
            "mode": mode,
            "use_multipart": use_multipart,
            "chunk_size": chunk_size,
            "max_concurrency": max_concurrency,
        }
        operation = Operation("PUT", path, size=len(body), condition=condition)
        return self._carry_out(
            calls.Put(store=self.direct, operation=operation, body=body, how=how)
        )

    async def put_async(
        self,
        path: str,
        file: IO[bytes] | Path | bytes | Iterable[Any] | AsyncIterable[Any],
        *,
        attributes: Attributes | None = None,
        tags: dict[str, str] | None = None,
        mode: PutMode | None = None,
        use_multipart: bool | None = None,
        chunk_size: int = PART_BYTES,
        max_concurrency: int = 12,
    ) -> PutResult:
        """Write an object, as ``obstore.put_async``."""
        if isinstance(file, AsyncIterable):
            file = b"".join([bytes(piece) async for piece in file])
        work = partial(
            self.put,
            path,
            file,
            attributes=attributes,
            tags=tags,
            mode=mode,
            use_multipart=use_multipart,
            chunk_size=chunk_size,
            max_concurrency=max_concurrency,
        )
        return await in_thread(work)

    def get(self, path: str, *, options: GetOptions | None = None) -> GetResult | ReadObject:
        """Read an object, as ``obstore.get``."""
        given = options or {}
        conditions = [
            f"{name.replace('_', '-')}: {value}"
            for name, value in given.items()
            if name in calls.CONDITIONS
        ]
        operation = Operation("GET", path, condition=", ".join(conditions) or None)
        return self._carry_out(calls.Get(store=self.direct, operation=operation, options=options))

    async def get_async(
        self, path: str, *, options: GetOptions | None = None
    ) -> GetResult | ReadObject:
        """Read an object, as ``obstore.get_async``."""
        return await in_thread(partial(self.get, path, options=options))

    def get_range(
        self, path: str, *, start: int, end: int | None = None, length: int | None = None
    ) -> Bytes:
        """Read a part of an object, as ``obstore.get_range``."""
        span = {"start": start, "end": end, "length": length}
        return self._carry_out(
            calls.GetRange(store=self.direct, operation=Operation("GET", path), span=span)
        )

    async def get_range_async(
        self, path: str, *, start: int, end: int | None = None, length: int | None = None
    ) -> Bytes:
        """Read a part of an object, as ``obstore.get_range_async``."""
        return await in_thread(partial(self.get_range, path, start=start, end=end, length=length))

    def get_ranges(
        self,
        path: str,
        *,
        starts: Sequence[int],
        ends: Sequence[int] | None = None,
        lengths: Sequence[int] | None = None,
        coalesce: int = GAP_BYTES,
    ) -> list[Bytes]:
        """Read some parts of an object, as ``obstore.get_ranges``, in one request."""
        how = {"ends": ends, "lengths": lengths, "coalesce": coalesce}
        operation = Operation("GET", path)
        return self._carry_out(
            calls.GetRanges(store=self.direct, operation=operation, starts=starts, how=how)
        )

    async def get_ranges_async(
        self,
        path: str,
        *,
        starts: Sequence[int],
        ends: Sequence[int] | None = None,
        lengths: Sequence[int] | None = None,
        coalesce: int = GAP_BYTES,
    ) -> list[Bytes]:
        """Read some parts of an object, as ``obstore.get_ranges_async``, in one request."""
        work = partial(
            self.get_ranges, path, starts=starts, ends=ends, lengths=lengths, coalesce=coalesce
        )
        return await in_thread(work)

    def head(self, path: str) -> ObjectMeta:
        """Ask about an object, as ``obstore.head``."""
        return self._carry_out(calls.Head(store=self.direct, operation=Operation("HEAD", path)))

    async def head_async(self, path: str) -> ObjectMeta:
        """Ask about an object, as ``obstore.head_async``."""
        return await in_thread(partial(self.head, path))

    def list(
        self,
        prefix: str | None = None,
        *,
        offset: str | None = None,
        chunk_size: int = 50,
        return_arrow: bool = False,
    ) -> ListingStream:
        """List all objects below a prefix, as ``obstore.list``, in one request."""
        _refuse_arrow(return_arrow)
        call = calls.List(
            store=self.direct, operation=_listing(prefix), prefix=prefix, offset=offset
        )
        return ListingStream(lambda: self._carry_out(call), chunk_size)

    def list_async(
        self,
        prefix: str | None = None,
        *,
        offset: str | None = None,
        chunk_size: int = 50,
        return_arrow: bool = False,
    ) -> ListingStream:
        """List all objects below a prefix, as ``obstore.list``, in one request."""
        return self.list(prefix, offset=offset, chunk_size=chunk_size, return_arrow=return_arrow)

    def list_with_delimiter(
        self, prefix: str | None = None, *, return_arrow: bool = False
    ) -> ListResult[Sequence[ObjectMeta]]:
        """List one directory, as ``obstore.list_with_delimiter``."""
        _refuse_arrow(return_arrow)
        found = self._carry_out(
            calls.ListWithDelimiter(store=self.direct, operation=_listing(prefix), prefix=prefix)
        )
        return {"common_prefixes": [*found["common_prefixes"]], "objects": [*found["objects"]]}

    async def list_with_delimiter_async(
        self, prefix: str | None = None, *, return_arrow: bool = False
    ) -> ListResult[Sequence[ObjectMeta]]:
        """List one directory, as ``obstore.list_with_delimiter_async``."""
        return await in_thread(partial(self.list_with_delimiter, prefix, return_arrow=return_arrow))

    def delete(self, paths: str | Sequence[str]) -> None:
        """Delete objects, as ``obstore.delete``."""
        operation = (
            Operation("DELETE", paths) if isinstance(paths, str) else Operation("DELETE_MANY", "")
        )
        self._carry_out(calls.Delete(store=self.direct, operation=operation, paths=paths))

    async def delete_async(self, paths: str | Sequence[str]) -> None:
        """Delete objects, as ``obstore.delete_async``."""
        await in_thread(partial(self.delete, paths))

    def copy(self, from_: str, to: str, *, overwrite: bool = True) -> None:
        """Copy an object, as ``obstore.copy``."""
        self._carry_out(
            calls.Copy(
                store=self.direct,
                operation=_placing("COPY", to, overwrite=overwrite),
                source=from_,
                overwrite=overwrite,
            )
        )

    async def copy_async(self, from_: str, to: str, *, overwrite: bool = True) -> None:
        """Copy an object, as ``obstore.copy_async``."""
        await in_thread(partial(self.copy, from_, to, overwrite=overwrite))

    def rename(self, from_: str, to: str, *, overwrite: bool = True) -> None:
        """Rename an object, as ``obstore.rename``: on local disk in one step, else in two."""
        import obstore.store  # noqa: PLC0415 - heavy, and only some tests use it

        if not isinstance(self.direct, obstore.store.LocalStore):
            self.copy(from_, to, overwrite=overwrite)
            self.delete(from_)
            return
        self._carry_out(
            calls.Rename(
                store=self.direct,
                operation=_placing("RENAME", to, overwrite=overwrite),
                source=from_,
                overwrite=overwrite,
            )
        )

    async def rename_async(self, from_: str, to: str, *, overwrite: bool = True) -> None:
        """Rename an object, as ``obstore.rename_async``."""
        await in_thread(partial(self.rename, from_, to, overwrite=overwrite))


def _whole(file: Any) -> bytes:
    if isinstance(file, Path):
        return file.read_bytes()
    if hasattr(file, "read"):
        return bytes(file.read())
    try:
        return memoryview(file).tobytes()
    except TypeError:
        return b"".join(memoryview(piece) for piece in file)


def _listing(prefix: str | None) -> Operation:
    below = (prefix or "").strip("/")
    return Operation("LIST", f"{below}/" if below else "", verb="GET")


def _placing(method: str, key: str, *, overwrite: bool) -> Operation:
    condition = None if overwrite else "if-none-match: *"
    return Operation(method, key, verb="PUT", condition=condition)


def _refuse_arrow(return_arrow: bool) -> None:  # noqa: FBT001
    if return_arrow:
        raise InvalidOption(
            option="return_arrow", found="True", expected="False: a FaultyStore gives no Arrow"
        )
