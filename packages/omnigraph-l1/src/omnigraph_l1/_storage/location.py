"""Where something is, and how to reach it: one value for Lance and for obstore.

Invariant: a ``Location`` (a directory, or a prefix in a bucket) is absolute and settled. Two
spellings of one location are equal; ``Location.parse`` of its own text gives it back; it carries no
secret, because text with credentials in it is refused.

* A path is taken as it is written: ``%20`` in it is three characters. ``~`` is the home.
* In a URI percent signs escape: ``s3://b/a%20b`` and ``s3://b/a b`` are one location, as they are
  to Lance. ``#`` and ``?`` must be escaped there, because Lance would cut the rest off.
* ``.`` and ``..`` are settled by the text alone, before symbolic links are looked at.
* Control characters are refused (Lance cannot have them), and backslashes in buckets (some
  stores turn them into slashes).

Invariant: a ``Storage`` (a location and its options) is resolved once, frozen, equal by value,
picklable; both libraries get the same options. It prints the names of its options and none of their
values. ``lance_options`` is the only way to the values.

Obstore's stores are kept for the process: one for equal storages, so that connections are shared.
What Lance retries and waits, obstore retries and waits. Lance and obstore keep threads that a
forked child does not have, and obstore then hangs for ever: a ``ProcessGuard`` makes use after fork
an error.

Not here: whether the location exists, how options are spelled and checked (``storage_options``),
and what the stores raise (``store_failures``). Windows paths are out of scope: a drive letter is an
ordinary name.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import attrs

from omnigraph_l1._storage.option_spellings import CLIENT, LANCE_ONLY
from omnigraph_l1._storage.storage_options import OptionValue, resolve_options
from omnigraph_l1._text_encoding import is_text, readable
from omnigraph_l1.deadlines import STORE_OPTIONS
from omnigraph_l1.errors import InvalidLocation, InvalidStorageOptions, StorageError, UsedAfterFork

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["Location", "ProcessGuard", "Storage"]

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):(?P<rest>//.*)", re.DOTALL)
_ONE_SLASH = re.compile(r"(file|s3|s3a|gs|gcs|az):/(?!/)", re.IGNORECASE)
_SCHEMES = {"file": "file", "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az"}
_DYNAMODB = "s3+ddb"
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]*")
_TABLE_QUERY = re.compile(r"ddbTableName=(?P<table>[A-Za-z0-9._\-]+)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPED_IN_URIS = "%#?"


@attrs.frozen(order=True)
class Location:
    """A directory on local disk, or a prefix in a bucket. Make one with ``Location.parse``."""

    scheme: str
    """``file``, ``s3``, ``gs``, ``az``, or ``s3+ddb`` (Lance's external manifest store)."""
    bucket: str = attrs.field(kw_only=True)
    """The bucket or container; empty on local disk."""
    key: str = attrs.field(kw_only=True)
    """What follows the bucket, or the root of the file system, without slashes around it."""
    dynamodb_table: str = attrs.field(default="", kw_only=True)
    """The table that ``s3+ddb`` keeps its versions in; empty otherwise."""

    @classmethod
    def parse(cls, where: str | os.PathLike[str] | Location) -> Location:
        """Read a path or a URI. Raise ``InvalidLocation`` for anything that is neither."""
        if isinstance(where, Location):
            return where
        given = _text(where)
        if not given:
            raise InvalidLocation(location=given, reason="it is empty")
        uri = _URI.fullmatch(given) if isinstance(where, str) else None
        if uri is not None:
            return _from_uri(given, uri["scheme"].lower(), uri["rest"][2:])
        if isinstance(where, str) and _ONE_SLASH.match(given):
            reason = "a URI has two slashes after its scheme, and a third before a path"
            raise InvalidLocation(location=_strip_secrets(given), reason=reason)
        expanded = os.path.expanduser(given) if isinstance(where, str) else given  # noqa: PTH111
        return _normalize("file", "", os.path.abspath(expanded), given)  # noqa: PTH100

    @property
    def is_local(self) -> bool:
        """Whether it is on local disk."""
        return self.scheme == "file"

    @property
    def local_path(self) -> Path:
        """The path on local disk; ``InvalidLocation`` for a location in a store."""
        if not self.is_local:
            raise InvalidLocation(location=str(self), reason="it is not on local disk")
        return Path("/" + self.key)

    @property
    def uri(self) -> str:
        """Exactly what Lance should be given: a plain path, or a URI with only ``%#?`` escaped."""
        if self.is_local:
            return "/" + self.key
        suffix = f"?ddbTableName={self.dynamodb_table}" if self.dynamodb_table else ""
        return f"{self.scheme}://{self.bucket}/{_escape(self.key)}".rstrip("/") + suffix

    @property
    def name(self) -> str:
        """The last segment; empty for the root of a bucket or of the file system."""
        return self.key.rpartition("/")[2]

    def __truediv__(self, below: str) -> Location:
        """Return the location ``below`` this one: one or more segments, but no ``.`` or ``..``."""
        if not is_text(below):
            reason = "what is appended to a location must be text, of valid Unicode"
            raise InvalidLocation(location=readable(below), reason=reason)
        segments = below.split("/")
        if not all(segments) or not {".", ".."}.isdisjoint(segments):
            reason = (
                "what is appended to a location must be plain names with single slashes between"
            )
            raise InvalidLocation(location=below, reason=reason)
        return attrs.evolve(
            self, key=_normalize(self.scheme, self.bucket, f"{self.key}/{below}", below).key
        )

    def __str__(self) -> str:
        return self.uri


def _text(where: object) -> str:
    text = os.fspath(where) if isinstance(where, (str, os.PathLike)) else where
    if isinstance(text, str):
        return text
    raise InvalidLocation(location=type(where).__name__, reason="it is not text")


def _from_uri(given: str, scheme: str, rest: str) -> Location:
    shown = _strip_secrets(given)
    authority, _, path = rest.partition("/")
    if {"@", ":"} & set(authority):
        reason = "ports and credentials do not belong in it; give them as storage options"
        raise InvalidLocation(location=shown, reason=reason)
    table = ""
    if scheme == _DYNAMODB:
        path, table = _dynamodb_table(path, shown)
    elif scheme not in _SCHEMES:
        raise InvalidLocation(location=shown, reason=f"the scheme {scheme!r} is not known")
    for sign in "?#":
        if sign in authority + path:
            reason = f"a {sign!r} in a URI is written {quote(sign)}, and there are no parameters"
            raise InvalidLocation(location=shown, reason=reason)
    path = _unescape(path, shown)
    scheme = _SCHEMES.get(scheme, scheme)
    if scheme == "file":
        if authority not in {"", "localhost"}:
            reason = f"file:// reaches only this machine, not {authority!r}; write file:///path"
            raise InvalidLocation(location=shown, reason=reason)
        return _normalize(scheme, "", path, shown)
    if not _BUCKET.fullmatch(authority):
        raise InvalidLocation(
            location=shown, reason=f"{authority!r} cannot be the name of a bucket"
        )
    return attrs.evolve(_normalize(scheme, authority, path, shown), dynamodb_table=table)


def _dynamodb_table(path: str, shown: str) -> tuple[str, str]:
    path, _, query = path.partition("?")
    found = _TABLE_QUERY.fullmatch(query)
    if found is None:
        reason = "s3+ddb:// needs ?ddbTableName=<the DynamoDB table> at its end, and only that"
        raise InvalidLocation(location=shown, reason=reason)
    return path, found["table"]


def _unescape(path: str, shown: str) -> str:
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        reason = "what its percent signs escape is not UTF-8"
        raise InvalidLocation(location=shown, reason=reason) from error


def _normalize(scheme: str, bucket: str, path: str, shown: str) -> Location:
    if _CONTROL.search(path):
        raise InvalidLocation(location=shown, reason="it holds a control character")
    if not is_text(path):
        raise InvalidLocation(location=readable(shown), reason="it is not valid Unicode")
    if scheme != "file" and "\\" in path:
        raise InvalidLocation(location=shown, reason="a store may take its backslash for a slash")
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if not segments and scheme != "file":
                raise InvalidLocation(location=shown, reason="its '..' leads out of the bucket")
            del segments[-1:]
        elif segment not in {"", "."}:
            segments.append(segment)
    return Location(scheme, bucket=bucket, key="/".join(segments))


def _escape(key: str) -> str:
    text = "".join(quote(c) if c in _ESCAPED_IN_URIS else c for c in key)
    # A URL parser strips white space from the end of the whole text.
    stripped = text.rstrip()
    return stripped + quote(text[len(stripped) :])


def _strip_secrets(uri: str) -> str:
    """Leave out what may be a secret: user information, query and fragment."""
    head, slashes, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    if {"@", ":"} & set(authority):
        return head + slashes + "…"
    shown = re.split(r"[?#]", slash + path, maxsplit=1)[0]
    return head + slashes + re.split(r"[?#]", authority, maxsplit=1)[0] + shown


_KEPT = 256
_Options = tuple[tuple[str, str], ...]


@attrs.frozen
class ProcessGuard:
    """Remembers the process in which ``what`` was made."""

    what: str
    made_in: int = attrs.field(factory=os.getpid)

    def check(self) -> None:
        """Raise ``UsedAfterFork`` in any other process."""
        here = os.getpid()
        if here != self.made_in:
            raise UsedAfterFork(what=self.what, made_in=self.made_in, used_in=here)


def _only_names(options: _Options) -> str:
    return "<" + ", ".join(name for name, _ in options) + ">"


@attrs.frozen
class Storage:
    """A location, and the options with which Lance and obstore reach it."""

    location: Location
    _options: _Options = attrs.field(default=(), repr=_only_names, kw_only=True)
    _below: str = attrs.field(default="", repr=False, eq=False, kw_only=True)
    """The end of the path that ``child`` has added: nothing on it may lead elsewhere."""

    @classmethod
    def resolve(
        cls,
        location: str | os.PathLike[str] | Location | Storage,
        storage_options: Mapping[str, OptionValue] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> Storage:
        """Settle the options for a location; ``environ`` stands for the environment variables.

        Raise ``InvalidLocation`` or ``InvalidStorageOptions``, which names the option. Nothing is
        asked of the store. A Storage without options is given back as it is.
        """
        if isinstance(location, Storage):
            if storage_options is None:
                return location
            location = location.location
        where = Location.parse(location)
        variables = os.environ if environ is None else environ
        settled = resolve_options(where, storage_options, variables)
        return cls(where, options=tuple(settled.items()))

    @property
    def lance_options(self) -> dict[str, str]:
        """The ``storage_options`` for Lance. They hold secrets: do not print or log them."""
        return dict(self._options)

    def object_store(self) -> ObjectStore:
        """Return obstore's store, rooted at the location; one in each process for equal storages.

        Raise ``UsedAfterFork`` in a child that was forked after its parent had used any.
        """
        return _open_store(self.location, self._options)

    def child(self, name: str) -> Storage:
        """Return the storage of a location below this one."""
        below = f"{self._below}/{name}" if self._below else name
        return attrs.evolve(self, location=self.location / name, below=below)

    @property
    def is_child(self) -> bool:
        """Whether ``child`` returned it, so that it is a part of something larger."""
        return bool(self._below)

    @property
    def contained_in(self) -> tuple[Path, str]:
        """The directory on local disk that was given, and the path below it that this one is.

        The path is empty for a location that was given itself.
        """
        path = self.location.local_path
        depth = len(self._below.split("/")) if self._below else 0
        return (path.parents[depth - 1] if depth else path), self._below

    def with_options(self, **changed: str) -> Storage:
        """Return the same with some options changed, under canonical names. Local has none."""
        if self.location.is_local:
            return self
        return attrs.evolve(self, options=tuple(sorted((self.lance_options | changed).items())))

    def __str__(self) -> str:
        return str(self.location)


@attrs.define
class _Stores:
    """The stores of this process, and the process in which the first was made."""

    guard: ProcessGuard | None = None
    lock: threading.Lock = attrs.field(factory=threading.Lock)
    by_key: dict[tuple[Location, _Options], ObjectStore] = attrs.field(factory=dict)


_stores = _Stores()


def _open_store(location: Location, options: _Options) -> ObjectStore:
    """Return the store that is rooted at ``location``."""
    if _stores.guard is not None:
        _stores.guard.check()
    with _stores.lock:
        store = _stores.by_key.get((location, options))
        if store is None:
            while len(_stores.by_key) >= _KEPT:
                del _stores.by_key[next(iter(_stores.by_key))]
            store = _build_store(location, dict(options))
            _stores.by_key[location, options] = store
            _stores.guard = ProcessGuard("The connection to a store")
    return store


def _build_store(location: Location, options: dict[str, str]) -> ObjectStore:
    from obstore.exceptions import BaseError  # noqa: PLC0415
    from obstore.store import AzureStore, GCSStore, LocalStore, S3Store  # noqa: PLC0415

    if location.is_local:
        if not location.local_path.is_dir():
            raise StorageError(location=str(location), detail="there is no such directory")
        return LocalStore(location.local_path, automatic_cleanup=False, mkdir=False)
    settings = {
        "client_options": {name: value for name, value in options.items() if name in CLIENT},
        "config": {name: value for name, value in options.items() if _is_for_store(name)},
        "prefix": location.key or None,
        "retry_config": _retries(options),
    }
    kinds: dict[str, Any] = {"gs": GCSStore, "az": AzureStore}
    try:
        store: ObjectStore = kinds.get(location.scheme, S3Store)(
            location.bucket, **_drop_aliases(settings)
        )
    except (BaseError, ValueError, TypeError) as error:
        raise InvalidStorageOptions(
            location=str(location),
            option="storage_options",
            reason="are refused by obstore",
            remedy=f"It says: {_strip_values(str(error).splitlines()[0], options)}",
        ) from None
    return store


def _strip_values(text: str, options: dict[str, str]) -> str:
    for value in options.values():
        text = text.replace(value, "…") if value else text
    return text


def _is_for_store(name: str) -> bool:
    return name not in CLIENT | LANCE_ONLY and not name.startswith("lance_")


def _retries(options: dict[str, str]) -> dict[str, Any]:
    timeout = options.get("client_retry_timeout", STORE_OPTIONS["client_retry_timeout"])
    return {
        "max_retries": int(options.get("client_max_retries", STORE_OPTIONS["client_max_retries"])),
        "retry_timeout": timedelta(seconds=int(timeout)),
    }


def _drop_aliases(settings: dict[str, Any]) -> dict[str, Any]:
    """Drop what obstore would read as a second spelling."""
    settings["config"].pop("s3_express", None)
    return settings
