"""Signing S3 requests with the standard library alone (AWS signature version 4).

For waiting until a server answers without importing boto3 or obstore for it, and for signing anew
what the gateway has changed. Retries, streaming and what else a real client does are not its
business.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from urllib.parse import quote, unquote, urlsplit

from omnigraph_testing._servers.s3_store import S3Store

__all__ = ["authorization", "signed_request"]

UNRESERVED = "-_.~"


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
    path = quote(f"/{store.bucket}/{key}" if key else f"/{store.bucket}", safe="/" + UNRESERVED)
    full = {
        **{name.lower(): value for name, value in (headers or {}).items()},
        "host": address.netloc,
        "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
        "x-amz-date": datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ"),
    }
    if store.session_token:
        full["x-amz-security-token"] = store.session_token
    full["authorization"] = authorization(store, method, path, query, headers=full, signed=full)
    secure = address.scheme == "https"
    connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = connect(address.netloc, timeout=timeout)
    try:
        connection.request(method, f"{path}?{query}" if query else path, body, full)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def authorization(
    store: S3Store,
    method: str,
    path: str,
    query: str,
    *,
    headers: Mapping[str, str],
    signed: Iterable[str],
    region: str | None = None,
) -> str:
    """Return the Authorization header for a request.

    ``path`` and ``query`` are as on the wire, header names in lower case; ``x-amz-date`` and
    ``x-amz-content-sha256`` are among them.
    """
    names = sorted(signed)
    stamp = headers["x-amz-date"]
    canonical = "\n".join(
        [
            method,
            quote(unquote(path), safe="/" + UNRESERVED),
            _canonical_query(query),
            *(f"{name}:{' '.join(headers[name].split())}" for name in names),
            "",
            ";".join(names),
            headers["x-amz-content-sha256"],
        ]
    )
    parts = (stamp[:8], region or store.region, "s3", "aws4_request")
    to_sign = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            stamp,
            "/".join(parts),
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{store.secret_key}".encode()
    for part in (*parts, to_sign):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return (
        f"AWS4-HMAC-SHA256 Credential={store.access_key}/{'/'.join(parts)}, "
        f"SignedHeaders={';'.join(names)}, Signature={key.hex()}"
    )


def _canonical_query(query: str) -> str:
    pairs = (part.partition("=") for part in query.split("&") if part)
    encoded = (
        (quote(unquote(name), safe=UNRESERVED), quote(unquote(value), safe=UNRESERVED))
        for name, _, value in pairs
    )
    return "&".join(f"{name}={value}" for name, value in sorted(encoded))
