"""A signed S3 request with the standard library alone (AWS signature version 4).

For waiting until a server answers, without importing boto3 or obstore for it. Retries, streaming
and anything else that a real client does are not its business.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
from collections.abc import Mapping
from datetime import datetime, timezone
from urllib.parse import quote, urlsplit

from omnigraph_testing._servers._store import S3Store

__all__ = ["sign", "signed_request"]


def signed_request(
    store: S3Store,
    method: str,
    key: str,
    *,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    query: str = "",
    timeout: float = 10.0,
) -> tuple[int, bytes]:
    """Do one request on ``key`` of the store's bucket, or on the bucket itself if it is empty.

    ``key`` counts from the bucket's root. Returns status and body; raises ``OSError`` or
    ``http.client.HTTPException`` where no answer came.
    """
    address = urlsplit(store.endpoint)
    path = quote(f"/{store.bucket}/{key}" if key else f"/{store.bucket}", safe="/-_.~")
    signed = sign(
        store, method, path, query=query, host=address.netloc, body=body, headers=headers or {}
    )
    connection = http.client.HTTPConnection(address.netloc, timeout=timeout)
    try:
        connection.request(method, f"{path}?{query}" if query else path, body, signed)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def sign(
    store: S3Store,
    method: str,
    path: str,
    *,
    query: str,
    host: str,
    body: bytes,
    headers: Mapping[str, str],
    now: datetime | None = None,
) -> dict[str, str]:
    """Return ``headers`` with what signs the request. ``query`` must be sorted and encoded."""
    stamp = (now or datetime.now(timezone.utc)).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    full = {
        **{name.lower(): value for name, value in headers.items()},
        "host": host,
        "x-amz-content-sha256": digest,
        "x-amz-date": stamp,
    }
    names = ";".join(sorted(full))
    canonical = "\n".join(
        [method, path, query, *(f"{name}:{full[name]}" for name in sorted(full)), "", names, digest]
    )
    scope = f"{stamp[:8]}/{store.region}/s3/aws4_request"
    to_sign = "\n".join(
        ["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()]
    )
    secret = f"AWS4{store.secret_key}".encode()
    for part in (stamp[:8], store.region, "s3", "aws4_request", to_sign):
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    full["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={store.access_key}/{scope}, "
        f"SignedHeaders={names}, Signature={secret.hex()}"
    )
    return full
