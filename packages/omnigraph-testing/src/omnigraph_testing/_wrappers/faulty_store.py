"""``FaultyStore``: an obstore store with faults, without HTTP.

Invariant: the methods and their signatures are those of obstore's stores, from which they are
generated. It is not one of them: obstore's module-level functions take its own Rust objects only,
and raise ``ValueError`` for this, so that no call escapes the rules.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import obstore.store

from omnigraph_testing._threads import in_thread
from omnigraph_testing._wrappers.obstore_results import ListingStream
from omnigraph_testing._wrappers.store_calls import OPERATIONS, StoreCall
from omnigraph_testing._wrappers.wrapper_base import Wrapper
from omnigraph_testing.errors import InvalidOption

__all__ = ["FaultyStore"]

if TYPE_CHECKING:

    class _Methods(Wrapper, obstore.store.ObjectStoreMethods):
        """The methods of a store, for type checkers."""
else:
    _Methods = Wrapper


class FaultyStore(_Methods):
    """Any store of obstore, with the rules and fault controls of ``FaultyS3``.

    Each call is one request: ``GET``, ``HEAD``, ``PUT`` (an upload in parts, too), ``LIST``,
    ``COPY``, ``DELETE`` for one path and ``DELETE_MANY`` for several, ``RENAME`` on local disk and
    a ``COPY`` and a ``DELETE`` elsewhere. A caller waits for ``timeout`` seconds. ``direct`` is the
    wrapped store.
    """

    methods: ClassVar[frozenset[str]] = frozenset(
        ["GET", "HEAD", "PUT", "LIST", "COPY", "DELETE", "DELETE_MANY", "RENAME"]
    )

    def __init__(self, store: obstore.store.ObjectStore, *, timeout: float = 30.0) -> None:
        super().__init__(timeout)
        self.direct = store

    def __repr__(self) -> str:
        return f"FaultyStore({self.direct!r})"

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Make one request, or for a rename in two steps, two."""
        if arguments.pop("return_arrow", False):
            raise InvalidOption(
                option="return_arrow", found="True", expected="False for a FaultyStore"
            )
        if name == "rename" and not isinstance(self.direct, obstore.store.LocalStore):
            self._call("copy", dict(arguments))
            return self._call("delete", {"paths": arguments["from_"]})
        if name == "put":
            arguments["file"] = _read_whole(arguments["file"])
        chunk_size = arguments.pop("chunk_size") if name == "list" else 0
        operation = OPERATIONS[name](arguments)
        call = StoreCall(store=self.direct, name=name, arguments=arguments, operation=operation)
        if name == "list":
            return ListingStream(lambda: self._carry_out(call), chunk_size)
        value = self._carry_out(call)
        if name == "list_with_delimiter":  # the caller may change its copy
            return {key: [*found] for key, found in value.items()}
        return value


def _read_whole(file: Any) -> bytes:
    if isinstance(file, Path):
        return file.read_bytes()
    if hasattr(file, "read"):
        return bytes(file.read())
    try:
        return memoryview(file).tobytes()
    except TypeError:
        return b"".join(memoryview(piece) for piece in file)


def _add_methods(name: str) -> None:
    """Add a method of obstore's stores, and its async form, with their own signatures."""

    def bind(declared: Callable[..., Any], arguments: Any, keywords: Any) -> dict[str, Any]:
        bound = inspect.signature(declared).bind(*arguments, **keywords)
        bound.apply_defaults()
        found = dict(bound.arguments)
        del found["self"]
        return found

    declared = getattr(obstore.store.ObjectStoreMethods, name)
    declared_async = getattr(obstore.store.ObjectStoreMethods, f"{name}_async")

    @functools.wraps(declared)
    def method(*args: Any, **kwargs: Any) -> Any:
        return args[0]._call(name, bind(declared, args, kwargs))  # noqa: SLF001

    @functools.wraps(declared_async)
    async def method_async(*args: Any, **kwargs: Any) -> Any:
        arguments = bind(declared_async, args, kwargs)
        if isinstance(arguments.get("file"), AsyncIterable):
            arguments["file"] = b"".join([bytes(piece) async for piece in arguments["file"]])
        return await in_thread(lambda: args[0]._call(name, arguments))  # noqa: SLF001

    setattr(FaultyStore, name, method)
    # A listing is a stream in both forms; its chunks can be awaited.
    setattr(FaultyStore, f"{name}_async", method if name == "list" else method_async)


for _name in OPERATIONS:
    _add_methods(_name)
