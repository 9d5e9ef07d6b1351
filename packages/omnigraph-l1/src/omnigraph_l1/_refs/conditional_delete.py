"""One DELETE that names the e_tag of what it deletes: the request that obstore does not have.

Always: a URL that obstore signed, one request by the standard library, ten seconds at most. True:
deleted. False: it stands there with another e_tag, or is gone. ``CannotDelete``: this connection
cannot do it. The URL is a secret while it lasts, and is in no error.
"""

from __future__ import annotations

import http.client
import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from omnigraph_l1._places import Storage
from omnigraph_l1._places.failures import store_errors

__all__ = ["CannotDelete", "delete_if_match"]

_SECONDS = 10
_ONLY_OBSTORE_CAN = ("proxy_url", "proxy_ca_certificate", "allow_invalid_certificates")
_DONE, _REFUSED = {200, 202, 204}, {404, 409, 412}


class CannotDelete(Exception):  # never leaves the package
    """A conditional DELETE cannot be sent, or was not understood."""


def delete_if_match(storage: Storage, key: str, token: str) -> bool:
    """Delete the object below the storage's place, if it is the one that the token names."""
    e_tag = json.loads(token)["e_tag"]
    if not e_tag or any(name in storage.lance_options for name in _ONLY_OBSTORE_CAN):
        raise CannotDelete
    try:
        status = _send(_signed(storage, key), {"If-Match": e_tag})
    except (OSError, http.client.HTTPException) as error:
        raise CannotDelete(type(error).__name__) from None
    if status in _DONE | _REFUSED:
        return status in _DONE
    raise CannotDelete(str(status))


def _signed(storage: Storage, key: str) -> str:
    import obstore  # noqa: PLC0415

    store: Any = storage.object_store()
    try:
        return obstore.sign(store, "DELETE", key, timedelta(seconds=2 * _SECONDS))
    except store_errors() as error:
        raise CannotDelete(type(error).__name__) from None


def _send(url: str, headers: dict[str, str]) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("DELETE", f"{parts.path}?{parts.query}", headers=headers)
        reply = connection.getresponse()
        reply.read()
        return reply.status
    finally:
        connection.close()
