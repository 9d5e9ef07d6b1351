"""``FaultyRefs``: a store of refs with faults, without HTTP. It is a ``RefStore`` itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from campaign.refs import ref_calls as calls
from omnigraph_l1 import Ref, RefStore, new_ulid
from omnigraph_testing._faults import fault_effects as effects
from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing._wrappers.wrapper_base import Wrapper

__all__ = ["FaultyRefs"]


class FaultyRefs(Wrapper):
    """Any store of refs, with the rules and fault controls of ``FaultyS3``.

    Each call is one request: ``GET``, ``CREATE``, ``REPLACE``, ``DELETE``, ``LIST``. The key is the
    ref's name, that of a listing its prefix. A caller waits for ``timeout`` seconds. ``direct`` is
    the wrapped store.
    """

    methods: ClassVar[frozenset[str]] = frozenset(["GET", "CREATE", "REPLACE", "DELETE", "LIST"])
    unknown_effects: ClassVar[tuple[type[effects.Effect], ...]] = (
        effects.Bandwidth,
        effects.TruncateReply,
        effects.TruncateRequest,
    )

    def __init__(self, refs: RefStore, *, timeout: float = 30.0) -> None:
        super().__init__(timeout)
        self.direct = refs
        self._place = str(getattr(refs, "location", type(refs).__name__))

    def __repr__(self) -> str:
        return f"FaultyRefs({self.direct!r})"

    def get(self, name: str) -> Ref | None:
        """Read a ref, or None where there is none of that name."""
        operation = Operation("GET", name)
        return self._carry_out(
            calls.Get(refs=self.direct, location=self._place, operation=operation)
        )

    def create(self, name: str, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Make a ref where there is none; ``RefExists`` where there is one."""
        operation = Operation("CREATE", name, verb="PUT", condition="if-none-match: *")
        return self._carry_out(
            calls.Create(
                refs=self.direct,
                location=self._place,
                operation=operation,
                write_id=new_ulid() if write_id is None else write_id,
                value=value,
            )
        )

    def replace(self, ref: Ref, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Change a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""
        operation = Operation(
            "REPLACE", ref.name, verb="PUT", condition=f"if-match: {ref.write_id}"
        )
        return self._carry_out(
            calls.Replace(
                refs=self.direct,
                location=self._place,
                operation=operation,
                write_id=new_ulid() if write_id is None else write_id,
                ref=ref,
                value=value,
            )
        )

    def delete(self, ref: Ref) -> None:
        """Delete a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""
        operation = Operation("DELETE", ref.name, condition=f"if-match: {ref.write_id}")
        self._carry_out(
            calls.Delete(
                refs=self.direct,
                location=self._place,
                operation=operation,
                write_id=ref.write_id,
                ref=ref,
            )
        )

    def list(self, prefix: str = "") -> tuple[Ref, ...]:
        """Read every ref whose name starts with ``prefix``, by name."""
        operation = Operation("LIST", prefix, verb="GET")
        return self._carry_out(
            calls.List(refs=self.direct, location=self._place, operation=operation)
        )

    def wrote(self, name: str, write_id: str) -> bool:
        """Tell whether a write happened, where the wrapped store can (``JsonRefs``): a ``GET``."""
        operation = Operation("GET", name)
        return self._carry_out(
            calls.Wrote(
                refs=self.direct, location=self._place, operation=operation, write_id=write_id
            )
        )
