"""Reserving versions, and finishing what was reserved.

A writer has staged its file under a name of its own. Then, always in this order:

1. The record of the version is written where there is none: that one write decides.
2. The winner's file is copied to the name that every reader of Lance knows.
3. The record says so.

Always: whoever finds a record that is not final does 2 and 3 for its writer, who may be dead; the
copy is of one file that never changes, so doing it twice does no harm. A version is only given
after the newest, and a lineage only begins where its dataset is known here: a store that was put in
the place of another decides nothing. What has its final name can be read without a record. Staged
files stay, for those who have read of them; ``forget`` removes them when their version goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._lance.manifest_names import NamingScheme, parse_name
from omnigraph_l1._places import Storage
from omnigraph_l1._places.failures import (
    Failure,
    failure_kind,
    harmless,
    storage_failure,
    store_errors,
)
from omnigraph_l1._refs.backend import Mismatch, Unsettled
from omnigraph_l1._refs.sqlite import SqliteBackend
from omnigraph_l1._refs.store import StoreBackend
from omnigraph_l1._versions.records import SUFFIX, Record, final_path, name_of, version_of
from omnigraph_l1.errors import CorruptDataset, StorageError

__all__ = ["Lineage", "Replaced", "Taken"]

_RESERVED = declare("versions.reserved", "A version is reserved, its file is still staged.")
_COPIED = declare("versions.copied", "The file has its final name, its record does not say so.")
_FINAL = declare("versions.final", "The record says that the file has its final name.")


class Taken(Exception):  # it never leaves the package
    """Somebody else has the version."""


class Replaced(Exception):  # it never leaves the package
    """The version store has never heard of the dataset."""


class _Removed(Exception):
    """A version was removed while it was looked at."""


@attrs.frozen
class Lineage:
    """The versions of one lineage of a dataset, as its version store has them."""

    storage: Storage
    _records: SqliteBackend | StoreBackend
    _of_main: SqliteBackend | StoreBackend | None = None
    """The records of main, where this is a branch."""
    _below: str = "_versions"
    """Where its version files are."""

    def newest(self) -> Record | None:
        """Give the newest version, its file in place; None where there is none."""
        version = _first(self._records)
        return None if version is None else self.at(version)

    def catch_up(self) -> None:
        """Record the newest version that has its final name, if that is newer than all records.

        Then they are those of an older copy of the version store: no commit would ever fit, and
        who only reads would take an older version for the newest.
        """
        newest = self._newest_file()
        found = None if newest is None or not self._is_behind(newest) else self._unrecorded(newest)
        if newest is None or found is None:
            return
        try:
            self._records.write(name_of(newest), found.to_bytes(), None)
        except Mismatch:
            return
        except (Unsettled, StorageError) as error:
            # It may be there all the same: a reply was lost, or somebody else was faster.
            if self._is_behind(newest):
                detail = (
                    f"it is an older copy: version {newest} of {self.storage} is there, and it has "
                    f"none after {_first(self._records)}; to record that failed: {error}"
                )
                raise StorageError(place=self._store, detail=detail) from error

    def at(self, version: int) -> Record | None:
        """Give a version, its file in place; None where there is none."""
        found = self._read(version)
        if found is None:
            return self._unrecorded(version)
        try:
            return self._finished(*found)
        except _Removed:
            return None

    def all(self) -> Iterator[Record]:
        """Give every version that has a record, newest first."""
        for version in sorted(self.versions(), reverse=True):
            found = self.at(version)
            if found is not None:
                yield found

    def reserve(self, record: Record) -> Record:
        """Make a staged file the version that it wants to be; ``Taken`` where that has another."""
        newest = _first(self._records)
        if newest is None and not self._may_begin(record.version):
            raise Replaced
        if newest is not None and newest > record.version:
            raise Taken
        token = self._reserved(record)
        failpoint(_RESERVED)
        try:
            return self._finished(record, token)
        except _Removed:
            detail = f"version {record.version} was made, and removed by others at once"
            raise StorageError(place=str(self.storage), detail=detail) from None

    def forget(self, versions: Iterable[int]) -> None:
        """Drop the records of versions that were removed, and what they had staged."""
        for version in versions:
            found = self._read(version)
            if found is not None:
                self._remove(found[0].staged)
                self._records.erase(name_of(version))

    def versions(self) -> list[int]:
        """Name the versions that have a record."""
        found = (version_of(name) for name in self._records.names())
        return [version for version in found if version is not None]

    def forget_all(self) -> None:
        """Drop all records, of a branch that is deleted: its files are gone."""
        for version in self.versions():
            self._records.erase(name_of(version))

    def _is_behind(self, version: int) -> bool:
        known = _first(self._records)
        return known is not None and known < version

    def _may_begin(self, version: int) -> bool:
        if self._of_main is None:
            return version <= 1
        return _first(self._of_main) is not None

    def _unrecorded(self, version: int) -> Record | None:
        """Give a version by its file alone: it has its final name only if it was decided."""
        path = final_path(self.storage.place.key, self._below, version)
        size = self._size_of(path)
        if size is None:
            return None
        return Record(version=version, staged=path, size=size, is_final=True)

    def _newest_file(self) -> int | None:
        try:
            for page in self.storage.object_store().list(f"{self._below}/"):
                for entry in page:
                    parsed = parse_name(str(entry["path"]).rpartition("/")[2])
                    if parsed is not None and parsed[0] is NamingScheme.V2:
                        return parsed[1]
        except store_errors() as error:
            if failure_kind(error) is not Failure.ABSENT:
                raise storage_failure(error, self.storage.place) from harmless(error)
        return None

    def _read(self, version: int) -> tuple[Record, str] | None:
        stored = self._records.read(name_of(version))
        if stored is None:
            return None
        try:
            return Record.from_bytes(stored.data), stored.token
        except ValueError as error:
            detail = f"the record of version {version} in {self._store} is damaged"
            raise CorruptDataset(place=str(self.storage), detail=detail) from error

    def _reserved(self, record: Record) -> str:
        """Write the record, once, whatever replies are lost; give its token."""
        records, doubt = self._records, None
        for _ in range(records.attempts):
            try:
                return records.write(name_of(record.version), record.to_bytes(), None)
            except Mismatch:
                doubt = None
            except Unsettled as lost:
                doubt = lost.cause
            except StorageError as error:
                raise doubt or error from None
            found = self._read(record.version)
            if found is not None:
                theirs, token = found
                if theirs.staged == record.staged:
                    return token
                self._finished(theirs, token)
                raise Taken
        raise doubt or StorageError(place=self._store, detail="it refuses what is free")

    def _finished(self, record: Record, token: str) -> Record:
        if record.is_final:
            return record
        self._copy(record)
        failpoint(_COPIED)
        done = attrs.evolve(record, is_final=True)
        try:
            self._records.write(name_of(record.version), done.to_bytes(), token)
        except (Mismatch, Unsettled, StorageError):
            return done  # somebody else said so, or will: the file is in place
        failpoint(_FINAL)
        return done

    def _copy(self, record: Record) -> None:
        store = self.storage.object_store()
        try:
            store.copy(self._inside(record.staged), self._inside(record.final))
        except store_errors() as error:
            if failure_kind(error) is Failure.ABSENT:
                if self._is_in_place(record):
                    return
                if self._read(record.version) is None:
                    raise _Removed from None
                detail = (
                    f"version {record.version} was reserved, and its staged file {record.staged} "
                    "is gone"
                )
                raise CorruptDataset(place=str(self.storage), detail=detail) from harmless(error)
            raise storage_failure(error, self.storage.place) from harmless(error)

    def _is_in_place(self, record: Record) -> bool:
        size = self._size_of(record.final)
        return size is not None and record.size in {None, size}

    def _size_of(self, path: str) -> int | None:
        try:
            found = self.storage.object_store().head(self._inside(path))
        except store_errors() as error:
            if failure_kind(error) is Failure.ABSENT:
                return None
            raise storage_failure(error, self.storage.place) from harmless(error)
        return int(found["size"])

    def _remove(self, path: str) -> None:
        try:
            self.storage.object_store().delete(self._inside(path))
        except store_errors() as error:
            if failure_kind(error) is not Failure.ABSENT:
                raise storage_failure(error, self.storage.place) from harmless(error)

    def _inside(self, path: str) -> str:
        key = self.storage.place.key
        return path.removeprefix(f"{key}/") if key else path

    @property
    def _store(self) -> str:
        return str(self.storage.version_store)


def _first(records: SqliteBackend | StoreBackend) -> int | None:
    name = records.first(SUFFIX)
    return None if name is None else version_of(name)
