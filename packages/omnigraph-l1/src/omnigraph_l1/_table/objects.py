"""The few files of a dataset that are looked at without Lance: on disk or in a store alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import obstore
from obstore.exceptions import BaseError

from omnigraph_l1._places import Place, Storage
from omnigraph_l1._places.failures import harmless, storage_failure

__all__ = ["all_names", "first_names", "read_object", "storage_border"]

_LOOKED_AT = 64


@contextmanager
def storage_border(place: Place) -> Iterator[None]:
    """Let no bare error of the operating system leave the block."""
    try:
        yield
    except OSError as error:
        raise storage_failure(error, place) from error


def read_object(storage: Storage, name: str) -> bytes | None:
    """Read one small file below the place; None where it is not there."""
    storage.place / name
    if storage.place.is_local:
        try:
            return (storage.place.local_path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise storage_failure(error, storage.place) from error
    try:
        return bytes(obstore.get(storage.object_store(), name).bytes())
    except FileNotFoundError:
        return None
    except BaseError as error:
        raise storage_failure(error, storage.place) from harmless(error)


def first_names(storage: Storage, count: int) -> list[str]:
    """Name a few of the things directly below the place; nothing where there is no such place."""
    return _names(storage, _LOOKED_AT)[:count]


def all_names(storage: Storage) -> list[str]:
    """Name everything directly below the place; nothing where there is no such place."""
    return _names(storage, None)


def _names(storage: Storage, looked_at: int | None) -> list[str]:
    if storage.place.is_local:
        try:
            with os.scandir(storage.place.local_path) as entries:
                return sorted(entry.name for entry in islice(entries, looked_at))
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            return ["a file"]
        except OSError as error:
            raise storage_failure(error, storage.place) from error
    try:
        listing = obstore.list_with_delimiter(storage.object_store())
    except FileNotFoundError:
        return []
    except BaseError as error:
        raise storage_failure(error, storage.place) from harmless(error)
    names = [*listing["common_prefixes"], *(entry["path"] for entry in listing["objects"])]
    return sorted(names)
