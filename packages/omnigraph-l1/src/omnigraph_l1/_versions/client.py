"""The methods that pylance calls, on threads of its own.

Always: what goes wrong is raised as the error of Lance's contract that says the same, with our
words. A version that was reserved and not finished is finished first, for whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import lance_namespace as contract
from lance_namespace import LanceNamespace

from omnigraph_l1._versions.deciding import Lineage, Replaced, Taken
from omnigraph_l1._versions.records import Record
from omnigraph_l1.errors import AccessDenied, L1Error, StoreUnavailable

__all__ = ["VersionsOfOneTable"]

_T = TypeVar("_T")


class VersionsOfOneTable(LanceNamespace):
    """The versions of one dataset, of all its branches."""

    def __init__(
        self,
        uri: str,
        lineage: Callable[[str | None], Lineage | None],
        replaced: Callable[[], None],
    ) -> None:
        """Ask ``lineage``; call ``replaced`` where the store turns out not to know the dataset."""
        self._uri = uri
        self._lineage_of = lineage
        self._replaced = replaced
        self._caught_up: set[str | None] = set()

    def namespace_id(self) -> str:
        """Say what it is, for messages."""
        return f"omnigraph versions of {self._uri}"

    def describe_table(self, request: Any) -> Any:
        """Say where the table is, and that its versions are managed here."""
        del request
        return contract.DescribeTableResponse(location=self._uri, managed_versioning=True)

    def declare_table(self, request: Any) -> Any:
        """Say the same of a table that is about to be made."""
        del request
        return contract.DeclareTableResponse(location=self._uri, managed_versioning=True)

    def create_table_version(self, request: Any) -> Any:
        """Reserve a version for a staged file, and put that in its place."""
        record = Record(
            version=_of(request, "version"),
            staged=_of(request, "manifest_path"),
            size=_of(request, "manifest_size"),
        )
        try:
            made = _told(lambda: self._lineage(request).reserve(record))
        except Taken:
            text = f"version {record.version} exists"
            raise contract.ConcurrentModificationError(text) from None
        except Replaced:
            self._replaced()
            text = f"the version store has no record of {self._uri}: it is not the one that decides"
            raise contract.InternalError(text) from None
        return contract.CreateTableVersionResponse(version=_version(made))

    def list_table_versions(self, request: Any) -> Any:
        """List versions, newest first."""
        lineage = self._lineage(request)
        if _of(request, "limit") == 1:
            branch = _of(request, "branch")
            if branch not in self._caught_up:
                _told(lineage.catch_up)
                self._caught_up.add(branch)
            newest = _told(lineage.newest)
            found = [] if newest is None else [newest]
        else:
            found = _told(lambda: list(lineage.all()))[: _of(request, "limit")]
        return contract.ListTableVersionsResponse(versions=[_version(each) for each in found])

    def describe_table_version(self, request: Any) -> Any:
        """Say where a version is to be read."""
        version = _of(request, "version")
        found = _told(lambda: self._lineage(request).at(version))
        if found is None:
            msg = f"there is no version {version}"
            raise contract.TableVersionNotFoundError(msg)
        return contract.DescribeTableVersionResponse(version=_version(found))

    def _lineage(self, request: Any) -> Lineage:
        found = self._lineage_of(_of(request, "branch"))
        if found is None:
            msg = f"nothing of ours decides the versions of {self._uri}"
            raise contract.UnsupportedOperationError(msg)
        return found


def _of(request: Any, name: str) -> Any:
    """Read a field: pylance gives a mapping, although the contract names a class."""
    return request.get(name) if hasattr(request, "get") else getattr(request, name, None)


def _version(record: Record) -> Any:
    return contract.TableVersion(
        version=record.version, manifest_path=record.path, manifest_size=record.size
    )


def _told(call: Callable[[], _T]) -> _T:
    try:
        return call()
    except StoreUnavailable as error:
        raise contract.ServiceUnavailableError(str(error)) from error
    except AccessDenied as error:
        raise contract.PermissionDeniedError(str(error)) from error
    except L1Error as error:
        raise contract.InternalError(str(error)) from error
