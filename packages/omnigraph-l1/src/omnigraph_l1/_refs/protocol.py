"""What every store of refs does, for those who write their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from omnigraph_l1._refs.document import Ref

__all__ = ["RefStore"]


@runtime_checkable
class RefStore(Protocol):
    """Small JSON documents by name. Each change is atomic, and seen by all who look later."""

    def get(self, name: str) -> Ref | None:
        """Read a ref, or None where there is none of that name."""

    def create(self, name: str, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Make a ref where there is none; ``RefExists`` where there is one."""

    def replace(self, ref: Ref, value: Mapping[str, Any], *, write_id: str | None = None) -> Ref:
        """Change a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""

    def delete(self, ref: Ref) -> None:
        """Delete a ref that is still as it was read; else ``RefChanged`` or ``RefNotFound``."""

    def list(self, prefix: str = "") -> tuple[Ref, ...]:
        """Read every ref whose name starts with ``prefix``, by name."""
