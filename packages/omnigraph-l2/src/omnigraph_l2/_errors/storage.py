"""The store did not do it; mend the store, the credentials or the disk."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l2._errors.base import OmniGraphError

__all__ = ["AccessDenied", "StorageError", "StorageFull", "UnsafeStore"]


@define(kw_only=True, slots=False)
class StorageError(OmniGraphError):
    """The store failed, or did not answer."""

    kind: ClassVar[str] = "storage_error"
    place: str
    detail: str

    def __str__(self) -> str:
        return f"The store of {self.place} failed: {self.detail}"


@define(kw_only=True, slots=False)
class AccessDenied(StorageError):
    """The credentials, or the rights on the files, do not suffice."""

    kind: ClassVar[str] = "access_denied"


@define(kw_only=True, slots=False)
class StorageFull(StorageError):
    """There is no room left."""

    kind: ClassVar[str] = "storage_full"


@define(kw_only=True, slots=False)
class UnsafeStore(StorageError):
    """The store ignores conditional writes, or its locks do not exclude."""

    kind: ClassVar[str] = "unsafe_store"
