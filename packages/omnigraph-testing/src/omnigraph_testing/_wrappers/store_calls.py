"""Each method of an obstore store as one request that rules can meet.

A reply whose body ends early matters where its body does: the reply of a GET is data, those of a
LIST and of a deletion are documents that the client parses, that of a COPY is not parsed, PUT and
HEAD have none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import attrs

from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing._wrappers import obstore_errors as errors
from omnigraph_testing._wrappers.call_outcome import Outcome
from omnigraph_testing._wrappers.obstore_results import ReadObject
from omnigraph_testing._wrappers.wrapped_call import Call

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["OPERATIONS", "StoreCall"]

Arguments = dict[str, Any]

CONDITIONS = ("if_match", "if_none_match", "if_modified_since", "if_unmodified_since")
DOCUMENTS = ("list", "list_with_delimiter", "delete")
NOT_PARSED = ("copy", "rename")


def _put(arguments: Arguments) -> Operation:
    mode, condition = arguments["mode"], None
    if mode == "create":
        condition = "if-none-match: *"
    elif isinstance(mode, dict):
        condition = f"if-match: {mode.get('e_tag')}"
    return Operation("PUT", arguments["path"], size=len(arguments["file"]), condition=condition)


def _get(arguments: Arguments) -> Operation:
    conditions = [
        f"{name.replace('_', '-')}: {value}"
        for name, value in (arguments["options"] or {}).items()
        if name in CONDITIONS
    ]
    return Operation("GET", arguments["path"], condition=", ".join(conditions) or None)


def _get_part(arguments: Arguments) -> Operation:
    return Operation("GET", arguments["path"])


def _list(arguments: Arguments) -> Operation:
    below = (arguments["prefix"] or "").strip("/")
    return Operation("LIST", f"{below}/" if below else "", verb="GET")


def _delete(arguments: Arguments) -> Operation:
    paths = arguments["paths"]
    return Operation("DELETE", paths) if isinstance(paths, str) else Operation("DELETE_MANY", "")


def _copy(arguments: Arguments) -> Operation:
    return _write_name("COPY", arguments)


def _rename(arguments: Arguments) -> Operation:
    return _write_name("RENAME", arguments)


def _write_name(method: str, arguments: Arguments) -> Operation:
    condition = None if arguments["overwrite"] else "if-none-match: *"
    return Operation(method, arguments["to"], verb="PUT", condition=condition)


OPERATIONS: dict[str, Callable[[Arguments], Operation]] = {
    "put": _put,
    "get": _get,
    "get_range": _get_part,
    "get_ranges": _get_part,
    "head": lambda arguments: Operation("HEAD", arguments["path"]),
    "list": _list,
    "list_with_delimiter": _list,
    "delete": _delete,
    "copy": _copy,
    "rename": _rename,
}
"""What a call of each method of a store asks for, by its arguments."""

SIZES: dict[str, Callable[[Any], int]] = {
    "get": lambda value: int(value.range[1] - value.range[0]),
    "get_range": len,
    "get_ranges": lambda value: sum(map(len, value)),
}


@attrs.frozen(kw_only=True)
class StoreCall(Call[Any]):
    """A call of a method of an obstore store, with all its arguments."""

    store: ObjectStore
    name: str
    arguments: Arguments = attrs.field(repr=False)
    operation: Operation

    @property
    def question(self) -> Hashable | None:
        """The same listing: method, prefix and offset."""
        if self.operation.method != "LIST":
            return None
        return self.name, self.operation.key, self.arguments.get("offset")

    def is_torn_by(self, keep: int) -> bool:
        """Return whether the store gets an incomplete body; a deletion is one document."""
        return self.name == "delete" or super().is_torn_by(keep)

    def size_of(self, value: Any) -> int:
        """Return the bytes of data in the reply."""
        size = SIZES.get(self.name)
        return 0 if size is None else size(value)

    def do(self, *, conditions: bool = True, keep: int | None = None) -> Any:
        """Call the store; without conditions, or with the first ``keep`` bytes of the body."""
        arguments = dict(self.arguments)
        if self.name == "put":
            arguments["file"] = arguments["file"][:keep]
        if not conditions:
            _remove_conditions(arguments)
        value = getattr(self.store, self.name)(**arguments)
        return list(value.collect()) if self.name == "list" else value

    # The errors that obstore raises.

    def status_of(self, error: Exception | None) -> int:
        """Return the status that S3 sends where obstore raises this error."""
        return errors.status_of(error)

    def unreachable_error(self) -> Exception:
        """Return the error for a connection that could not be made."""
        return errors.connection_error(self.operation, connected=False)

    def reset_error(self) -> Exception:
        """Return the error for a reset."""
        return errors.connection_error(self.operation)

    def lost_reply_error(self) -> Exception:
        """Return the error for a reset, which may come after the effect."""
        return errors.connection_error(self.operation)

    def answer_with(self, status: int, made: Outcome[Any] | None) -> Outcome[Any]:  # noqa: ARG002
        """Return the error for that status, whether the request had its effect or not."""
        return Outcome(error=errors.answer_error(self.operation, status), status=status)

    # A reply that ends early.

    def is_longer(self, made: Outcome[Any], keep: int) -> bool:
        """Return whether the reply has more bytes: errors and documents always do."""
        if made.error is not None:
            return self.operation.method != "HEAD"
        if self.name == "get_ranges":
            parts = zip(self._parts(made), self._room(keep), strict=True)
            return any(len(part) > most for part, most in parts)
        if self.name in SIZES:
            return self.size_of(made.value) > keep
        return self.name in (*DOCUMENTS, *NOT_PARSED)

    def truncate_reply(self, made: Outcome[Any], keep: int, *, silent: bool) -> Outcome[Any]:
        """Return what obstore makes of a reply that ends after ``keep`` bytes."""
        if made.error is None and self.name in DOCUMENTS:
            return self._break_off(made, unreadable=silent)
        if made.error is None and self.name == "get":
            return attrs.evolve(made, value=self._cut_object(made, keep, silent=silent))
        if not silent:
            return self._break_off(made)
        if made.error is None and self.name in SIZES:
            return self._cut_parts(made, keep)
        return made

    def _cut_parts(self, made: Outcome[Any], keep: int) -> Outcome[Any]:
        room = self._room(keep)
        if min(room) < 0:  # obstore itself panics at a part that begins beyond
            return self._break_off(made)
        cut = [part[0:most:1] for part, most in zip(self._parts(made), room, strict=True)]
        return attrs.evolve(made, value=cut if self.name == "get_ranges" else cut[0])

    def _parts(self, made: Outcome[Any]) -> list[Any]:
        value: Any = made.value
        return value if self.name == "get_ranges" else [value]

    def _break_off(self, made: Outcome[Any], *, unreadable: bool = False) -> Outcome[Any]:
        error = errors.body_error(self.operation, unreadable=unreadable)
        return Outcome(error=error, status=made.status)

    def _cut_object(self, made: Outcome[Any], keep: int, *, silent: bool) -> ReadObject:
        """Return an object that ends early: with an error when it is read, or as if whole."""
        value: Any = made.value
        meta, span = value.meta, value.range
        kept = bytes(value.bytes())[:keep]
        if silent and span == (0, meta["size"]):  # nothing else names the length
            meta, span = {**meta, "size": len(kept)}, (0, len(kept))
        return ReadObject(
            meta=meta,
            attributes=value.attributes,
            range=span,
            data=kept,
            error=None if silent else self._break_off(made).error,
        )

    def _room(self, keep: int) -> list[int]:
        """Return how many bytes of each range lie within the first ``keep`` bytes."""
        starts = self.arguments.get("starts", [0])
        return [min(starts, default=0) + keep - start for start in starts]


def _remove_conditions(arguments: Arguments) -> None:
    if "mode" in arguments:
        arguments["mode"] = "overwrite"
    if "overwrite" in arguments:
        arguments["overwrite"] = True
    if arguments.get("options"):
        options = arguments["options"].items()
        arguments["options"] = {name: value for name, value in options if name not in CONDITIONS}
