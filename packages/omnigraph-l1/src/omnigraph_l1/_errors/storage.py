"""The store did not do it."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_l1._errors.base import L1Error

__all__ = [
    "AccessDenied",
    "StorageError",
    "StorageFull",
    "StoreUnavailable",
    "UnsafeStore",
]


@define(kw_only=True, slots=False)
class StorageError(L1Error):
    """The store failed. ``detail`` is what it said, without secrets."""

    kind: ClassVar[str] = "storage_error"
    location: str
    detail: str

    def __str__(self) -> str:
        return f"The store failed at {self.location}: {self.detail}."


@define(kw_only=True, slots=False)
class StoreUnavailable(StorageError):
    """The store did not answer, or said that it cannot serve now."""

    kind: ClassVar[str] = "store_unavailable"

    def __str__(self) -> str:
        return (
            f"The store of {self.location} cannot be reached: {self.detail}. "
            "Check that it is up and that the endpoint is right, then try again."
        )


@define(kw_only=True, slots=False)
class AccessDenied(StorageError):
    """The store or the file system refused access."""

    kind: ClassVar[str] = "access_denied"

    def __str__(self) -> str:
        return (
            f"Access to {self.location} was refused: {self.detail}. "
            "Check the credentials, or the owner and mode of the files."
        )


@define(kw_only=True, slots=False)
class StorageFull(StorageError):
    """There is no room left."""

    kind: ClassVar[str] = "storage_full"

    def __str__(self) -> str:
        return (
            f"No room is left at {self.location}: {self.detail}. "
            "Make room and try again; nothing half done is visible."
        )


@define(kw_only=True, slots=False)
class UnsafeStore(StorageError):
    """The store ignores conditional writes, so two writers could both believe they won."""

    kind: ClassVar[str] = "unsafe_store"

    def __str__(self) -> str:
        return (
            f"{self.location} cannot be written safely: {self.detail}. "
            "Use a store that honours If-None-Match and If-Match on PUT, or keep the versions in "
            "DynamoDB (s3+ddb://)."
        )
