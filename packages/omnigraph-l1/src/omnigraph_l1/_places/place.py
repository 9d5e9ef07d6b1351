"""One type for where something is: a directory, or a prefix in a bucket.

Always: a Place is absolute and settled. Two spellings of one place are equal; ``Place.parse`` of
its own text gives it back; it carries no secret, because text with credentials in it is refused.

* A path is taken as it is written: ``%20`` in it is three characters. ``~`` is the home.
* In a URI percent signs escape: ``s3://b/a%20b`` and ``s3://b/a b`` are one place, as they are to
  Lance. ``#`` and ``?`` must be escaped there, because Lance would cut the rest off.
* ``.`` and ``..`` are settled by the text alone, before symbolic links are looked at.
* Control characters are refused (Lance cannot have them), and backslashes in buckets (some
  stores turn them into slashes).

Not here: whether the place exists, and how to log in (``Storage``). Windows paths are out of
scope: a drive letter is an ordinary name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote

import attrs

from omnigraph_l1._text import is_text, readable
from omnigraph_l1.errors import InvalidPlace

__all__ = ["Place"]

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):(?P<rest>//.*)", re.DOTALL)
_ONE_SLASH = re.compile(r"(file|s3|s3a|gs|gcs|az):/(?!/)", re.IGNORECASE)
_SCHEMES = {"file": "file", "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az"}
_DYNAMODB = "s3+ddb"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]*")
_TABLE_QUERY = re.compile(r"ddbTableName=(?P<table>[A-Za-z0-9._\-]+)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPED_IN_URIS = "%#?"


@attrs.frozen(order=True)
class Place:
    """A directory on local disk, or a prefix in a bucket. Make one with ``Place.parse``."""

    scheme: str
    """``file``, ``s3``, ``gs``, ``az``, or ``s3+ddb`` (Lance's external manifest store)."""
    bucket: str = attrs.field(kw_only=True)
    """The bucket or container; empty on local disk."""
    key: str = attrs.field(kw_only=True)
    """What follows the bucket, or the root of the file system, without slashes around it."""
    dynamodb_table: str = attrs.field(default="", kw_only=True)
    """The table that ``s3+ddb`` keeps its versions in; empty otherwise."""

    @classmethod
    def parse(cls, where: str | os.PathLike[str] | Place) -> Place:
        """Read a path or a URI. Raise ``InvalidPlace`` for anything that is neither."""
        if isinstance(where, Place):
            return where
        given = _text(where)
        if not given:
            raise InvalidPlace(place=given, reason="it is empty")
        uri = _URI.fullmatch(given) if isinstance(where, str) else None
        if uri is not None:
            return _from_uri(given, uri["scheme"].lower(), uri["rest"][2:])
        if isinstance(where, str) and _ONE_SLASH.match(given):
            reason = "a URI has two slashes after its scheme, and a third before a path"
            raise InvalidPlace(place=_without_secrets(given), reason=reason)
        expanded = os.path.expanduser(given) if isinstance(where, str) else given  # noqa: PTH111
        return _settled("file", "", os.path.abspath(expanded), given)  # noqa: PTH100

    @property
    def is_local(self) -> bool:
        """Whether it is on local disk."""
        return self.scheme == "file"

    @property
    def local_path(self) -> Path:
        """The path on local disk; ``InvalidPlace`` for a place in a store."""
        if not self.is_local:
            raise InvalidPlace(place=str(self), reason="it is not on local disk")
        return Path("/" + self.key)

    @property
    def uri(self) -> str:
        """Exactly what Lance should be given: a plain path, or a URI with only ``%#?`` escaped."""
        if self.is_local:
            return "/" + self.key
        suffix = f"?ddbTableName={self.dynamodb_table}" if self.dynamodb_table else ""
        return f"{self.scheme}://{self.bucket}/{_escaped(self.key)}".rstrip("/") + suffix

    @property
    def name(self) -> str:
        """The last segment; empty for the root of a bucket or of the file system."""
        return self.key.rpartition("/")[2]

    def __truediv__(self, below: str) -> Place:
        """Give the place ``below`` this one. It may have several segments, but no ``.``, ``..``."""
        if not is_text(below):
            reason = "what is appended to a place must be text, of valid Unicode"
            raise InvalidPlace(place=readable(below), reason=reason)
        segments = below.split("/")
        if not all(segments) or not {".", ".."}.isdisjoint(segments):
            reason = "what is appended to a place must be plain names with single slashes between"
            raise InvalidPlace(place=below, reason=reason)
        return attrs.evolve(
            self, key=_settled(self.scheme, self.bucket, f"{self.key}/{below}", below).key
        )

    def __str__(self) -> str:
        return self.uri


def _text(where: object) -> str:
    text = os.fspath(where) if isinstance(where, (str, os.PathLike)) else where
    if isinstance(text, str):
        return text
    raise InvalidPlace(place=type(where).__name__, reason="it is not text")


def _from_uri(given: str, scheme: str, rest: str) -> Place:
    shown = _without_secrets(given)
    authority, _, path = rest.partition("/")
    if {"@", ":"} & set(authority):
        reason = "ports and credentials do not belong in it; give them as storage options"
        raise InvalidPlace(place=shown, reason=reason)
    table = ""
    if scheme == _DYNAMODB:
        path, table = _dynamodb_table(path, shown)
    elif scheme not in _SCHEMES:
        raise InvalidPlace(place=shown, reason=f"the scheme {scheme!r} is not known")
    for sign in "?#":
        if sign in authority + path:
            reason = f"a {sign!r} in a URI is written {quote(sign)}, and there are no parameters"
            raise InvalidPlace(place=shown, reason=reason)
    path = _unescaped(path, shown)
    scheme = _SCHEMES.get(scheme, scheme)
    if scheme == "file":
        if authority not in {"", "localhost"}:
            reason = f"file:// reaches only this machine, not {authority!r}; write file:///path"
            raise InvalidPlace(place=shown, reason=reason)
        return _settled(scheme, "", path, shown)
    if not _BUCKET.fullmatch(authority):
        raise InvalidPlace(place=shown, reason=f"{authority!r} cannot be the name of a bucket")
    return attrs.evolve(_settled(scheme, authority, path, shown), dynamodb_table=table)


def _dynamodb_table(path: str, shown: str) -> tuple[str, str]:
    path, _, query = path.partition("?")
    found = _TABLE_QUERY.fullmatch(query)
    if found is None:
        reason = "s3+ddb:// needs ?ddbTableName=<the DynamoDB table> at its end, and only that"
        raise InvalidPlace(place=shown, reason=reason)
    return path, found["table"]


def _unescaped(path: str, shown: str) -> str:
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        reason = "what its percent signs escape is not UTF-8"
        raise InvalidPlace(place=shown, reason=reason) from error


def _settled(scheme: str, bucket: str, path: str, shown: str) -> Place:
    if _CONTROL.search(path):
        raise InvalidPlace(place=shown, reason="it holds a control character")
    if not is_text(path):
        raise InvalidPlace(place=readable(shown), reason="it is not valid Unicode")
    if scheme != "file" and "\\" in path:
        raise InvalidPlace(place=shown, reason="a store may take its backslash for a slash")
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if not segments and scheme != "file":
                raise InvalidPlace(place=shown, reason="its '..' leads out of the bucket")
            del segments[-1:]
        elif segment not in {"", "."}:
            segments.append(segment)
    return Place(scheme, bucket=bucket, key="/".join(segments))


def _escaped(key: str) -> str:
    text = "".join(quote(c) if c in _ESCAPED_IN_URIS else c for c in key)
    # A URL parser strips white space from the end of the whole text.
    stripped = text.rstrip()
    return stripped + quote(text[len(stripped) :])


def _without_secrets(uri: str) -> str:
    """Leave out what may be a secret: user information, query and fragment."""
    head, slashes, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    if {"@", ":"} & set(authority):
        return head + slashes + "…"
    shown = re.split(r"[?#]", slash + path, maxsplit=1)[0]
    return head + slashes + re.split(r"[?#]", authority, maxsplit=1)[0] + shown
