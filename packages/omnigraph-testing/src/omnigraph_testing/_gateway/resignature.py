"""Sign a request again after its headers were changed: the gateway knows the store's keys."""

from __future__ import annotations

import hashlib
import re

from omnigraph_testing._gateway.http_heads import RequestHead
from omnigraph_testing._gateway.s3_protocol import CONDITIONS
from omnigraph_testing._servers.s3_store import S3Store
from omnigraph_testing._servers.sigv4 import authorization

__all__ = ["with_body", "without_conditions"]

SIGNED_HEADERS = re.compile(r"SignedHeaders=([^,\s]+)")
REGION = re.compile(r"Credential=[^/]+/\d+/([^/]+)/")
DIGESTS = ("content-md5", "x-amz-sdk-checksum-algorithm")


def without_conditions(head: RequestHead, store: S3Store) -> RequestHead:
    """Return the head without conditions, as if the client had set none."""
    return _change_headers(head, store, dict.fromkeys(CONDITIONS))


def with_body(head: RequestHead, store: S3Store, body: bytes) -> RequestHead:
    """Return the head for this body instead of the client's."""
    changes: dict[str, str | None] = dict.fromkeys(
        name for name in head.headers if name in DIGESTS or name.startswith("x-amz-checksum-")
    )
    changes |= {
        "content-length": str(len(body)),
        "transfer-encoding": None,
        "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
    }
    return _change_headers(head, store, changes)


def _change_headers(
    head: RequestHead, store: S3Store, changes: dict[str, str | None]
) -> RequestHead:
    changes = {
        name: value for name, value in changes.items() if value is not None or name in head.headers
    }
    if not changes:
        return head
    changed = RequestHead(head.with_headers(changes))
    given = head.headers.get("authorization", "")
    signed, region = SIGNED_HEADERS.search(given), REGION.search(given)
    if not signed or not region:
        return changed
    path, _, query = head.target.partition("?")
    again = authorization(
        store,
        head.method,
        path,
        query,
        headers=changed.headers,
        signed=[name for name in signed[1].split(";") if name in changed.headers],
        region=region[1],
    )
    return RequestHead(changed.with_headers({"authorization": again}))
