"""What a request means in S3, and what S3's errors look like."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote
from xml.sax.saxutils import escape

from omnigraph_testing._faults.s3_statuses import words_of
from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing._gateway.http_heads import RequestHead, ResponseHead
from omnigraph_testing._servers.s3_store import S3Store

__all__ = ["CONDITIONS", "error_reply", "operation_of"]

CONDITIONS = ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")

# (verb, parameter in the query, whether there is a key) and what that means; first match counts.
METHODS = (
    ("POST", "uploads", True, "CREATE_MULTIPART"),
    ("PUT", "partNumber", True, "PUT_PART"),
    ("POST", "uploadId", True, "COMPLETE_MULTIPART"),
    ("DELETE", "uploadId", True, "ABORT_MULTIPART"),
    ("GET", "uploadId", True, "LIST_PARTS"),
    ("GET", "uploads", False, "LIST_UPLOADS"),
    ("POST", "delete", False, "DELETE_MANY"),
)
BUCKET_QUESTIONS = frozenset(
    ["location", "versioning", "acl", "policy", "lifecycle", "cors", "tagging", "object-lock"]
)


def operation_of(head: RequestHead, store: S3Store) -> Operation:
    """Return what the request asks of the bucket, its key counted from the store's prefix."""
    path, _, query = head.target.partition("?")
    bucket, _, key = path.lstrip("/").partition("/")
    asked = dict(parse_qsl(query, keep_blank_values=True))
    method = _method(head, has_key=bool(key), asked=asked)
    full = asked.get("prefix", "") if method == "LIST" else unquote(key)
    conditions = [f"{name}: {head.headers[name]}" for name in CONDITIONS if name in head.headers]
    return Operation(
        method,
        _relative(full, store) if unquote(bucket) == store.bucket else unquote(path),
        verb=head.method,
        size=head.length if head.length >= 0 else None,
        condition=", ".join(conditions) or None,
    )


def _method(head: RequestHead, *, has_key: bool, asked: dict[str, str]) -> str:
    for verb, parameter, with_key, method in METHODS:
        if head.method == verb and parameter in asked and has_key == with_key:
            return method
    if head.method == "PUT" and "x-amz-copy-source" in head.headers:
        return "COPY"
    if has_key:
        return head.method
    if head.method == "GET" and not BUCKET_QUESTIONS & asked.keys():
        return "LIST"
    return "BUCKET"


def _relative(key: str, store: S3Store) -> str:
    if not store.prefix:
        return key
    if not key:
        return ""
    below = store.prefix + "/"
    if key.startswith(below):
        return key[len(below) :]
    return "" if key == store.prefix else f"/{key}"


def error_reply(status: int, head: RequestHead, number: int) -> tuple[ResponseHead, bytes]:
    """Return S3's reply of that status. Its request id is made of ``number``."""
    reason, code, message = words_of(status)
    request_id = f"{number:016X}"
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{code}</Code><Message>{escape(message)}</Message>"
        f"<Resource>{escape(unquote(head.target.partition('?')[0]))}</Resource>"
        f"<RequestId>{request_id}</RequestId></Error>"
    ).encode()
    headers = (
        ("x-amz-request-id", request_id),
        ("content-type", "application/xml"),
        ("content-length", str(len(body))),
        ("server", "omnigraph-testing"),
    )
    return ResponseHead.make(status, reason, headers), b"" if head.method == "HEAD" else body
