"""obstore's stores, built from settled options and kept for the process.

Always: one store for equal places and options in a process, so that connections are shared; what
Lance retries and waits, obstore retries and waits. A child that was forked after its parent had
used obstore gets ``UsedAfterFork``: obstore would hang there.

Not here: what the options mean (``options``), and what the stores raise (``failures``).
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs

from omnigraph_l1._places.options import DEFAULTS
from omnigraph_l1._places.place import Place
from omnigraph_l1._places.spellings import CLIENT, LANCE_ONLY
from omnigraph_l1._process import ProcessGuard
from omnigraph_l1.errors import InvalidStorageOptions, StorageError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["open_store"]

_KEPT = 256
_Options = tuple[tuple[str, str], ...]


@attrs.define
class _Stores:
    """The stores of this process, and the process in which the first was made."""

    guard: ProcessGuard | None = None
    lock: threading.Lock = attrs.field(factory=threading.Lock)
    by_key: dict[tuple[Place, _Options], ObjectStore] = attrs.field(factory=dict)


_stores = _Stores()


def open_store(place: Place, options: _Options) -> ObjectStore:
    """Give the store that is rooted at ``place``."""
    if _stores.guard is not None:
        _stores.guard.check()
    with _stores.lock:
        store = _stores.by_key.get((place, options))
        if store is None:
            while len(_stores.by_key) >= _KEPT:
                del _stores.by_key[next(iter(_stores.by_key))]
            store = _built(place, dict(options))
            _stores.by_key[place, options] = store
            _stores.guard = ProcessGuard("The connection to a store")
    return store


def _built(place: Place, options: dict[str, str]) -> ObjectStore:
    from obstore.exceptions import BaseError  # noqa: PLC0415
    from obstore.store import AzureStore, GCSStore, LocalStore, S3Store  # noqa: PLC0415

    if place.is_local:
        if not place.local_path.is_dir():
            raise StorageError(place=str(place), detail="there is no such directory")
        return LocalStore(place.local_path, automatic_cleanup=False, mkdir=False)
    settings = {
        "client_options": {name: value for name, value in options.items() if name in CLIENT},
        "config": {name: value for name, value in options.items() if _is_for_store(name)},
        "prefix": place.key or None,
        "retry_config": _retries(options),
    }
    kinds: dict[str, Any] = {"gs": GCSStore, "az": AzureStore}
    try:
        store: ObjectStore = kinds.get(place.scheme, S3Store)(place.bucket, **_flags(settings))
    except (BaseError, ValueError, TypeError) as error:
        raise InvalidStorageOptions(
            place=str(place),
            option="storage_options",
            reason="are refused by obstore",
            remedy=f"It says: {_without_values(str(error).splitlines()[0], options)}",
        ) from None
    return store


def _without_values(text: str, options: dict[str, str]) -> str:
    for value in options.values():
        text = text.replace(value, "…") if value else text
    return text


def _is_for_store(name: str) -> bool:
    return name not in CLIENT | LANCE_ONLY and not name.startswith("lance_")


def _retries(options: dict[str, str]) -> dict[str, Any]:
    timeout = options.get("client_retry_timeout", DEFAULTS["client_retry_timeout"])
    return {
        "max_retries": int(options.get("client_max_retries", DEFAULTS["client_max_retries"])),
        "retry_timeout": timedelta(seconds=int(timeout)),
    }


def _flags(settings: dict[str, Any]) -> dict[str, Any]:
    """Drop what obstore would read as a second spelling."""
    settings["config"].pop("s3_express", None)
    return settings
