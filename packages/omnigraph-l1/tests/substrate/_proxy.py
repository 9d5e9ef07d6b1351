"""A small HTTP proxy before an S3 server: it notes each request, and can hold one back.

It passes requests on unchanged, the Host header included, because that is signed. Faults are not
its business: omnigraph_testing has a gateway for those.
"""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import attrs

_PATIENCE = 30.0
_OURS = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@attrs.frozen
class Request:
    """One request: ``key`` is what it names, or for a listing the prefix that it asks for."""

    method: str
    key: str
    status: int

    @property
    def verb(self) -> str:
        """What S3 calls it."""
        return self.method

    def __str__(self) -> str:
        return f"{self.method} {self.key} -> {self.status}"


@attrs.define
class Held:
    """A request that waits at the proxy. ``arrived`` is set when it is there."""

    matches: Callable[[str, str], bool]
    arrived: threading.Event = attrs.field(factory=threading.Event)
    released: threading.Event = attrs.field(factory=threading.Event)

    def wait(self) -> None:
        """Return when the request is there, and fail if it never comes."""
        assert self.arrived.wait(_PATIENCE), "the request that should be held never came"


class Proxy:
    """A running proxy. ``endpoint`` is where clients go instead of the server."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.requests: list[Request] = []
        self._held: list[Held] = []
        self._lock = threading.Lock()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop taking requests."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Count the requests by kind that are made inside; the counter is filled at the end."""
        counts: Counter[str] = Counter()
        start = len(self.requests)
        yield counts
        counts.update(request.verb for request in self.requests[start:])

    def since(self, start: int) -> list[Request]:
        """Return the requests from number ``start`` on."""
        return self.requests[start:]

    @contextmanager
    def hold(self, matches: Callable[[str, str], bool]) -> Iterator[Held]:
        """Hold the first request whose (verb, key) matches, until the end at the latest."""
        held = Held(matches)
        with self._lock:
            self._held.append(held)
        try:
            yield held
        finally:
            held.released.set()

    def note(self, request: Request) -> None:
        """Write down what was answered."""
        with self._lock:
            self.requests.append(request)

    def pause(self, verb: str, key: str) -> None:
        """Wait here if this request should be held."""
        with self._lock:
            held = next((one for one in self._held if one.matches(verb, key)), None)
            if held is not None:
                self._held.remove(held)
        if held is not None:
            held.arrived.set()
            held.released.wait(_PATIENCE)


class _Handler(BaseHTTPRequestHandler):
    owner: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _connection: http.client.HTTPConnection | None = None

    def _pass_on(self) -> None:
        verb, key = _what(self.command, self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.owner.pause(verb, key)
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self.owner.upstream, timeout=_PATIENCE)
        self._connection.putrequest(
            self.command, self.path, skip_host=True, skip_accept_encoding=True
        )
        for name, value in self.headers.items():
            if name.lower() not in {"connection", "keep-alive"}:
                self._connection.putheader(name, value)
        self._connection.endheaders(body)
        answer = self._connection.getresponse()
        content = answer.read()
        self.owner.note(Request(verb, key, answer.status))
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _OURS:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Say nothing on stderr."""


def _what(method: str, path: str) -> tuple[str, str]:
    split = urlsplit(path)
    if method == "GET" and "list-type=2" in split.query:
        prefix = next(
            (part[7:] for part in split.query.split("&") if part.startswith("prefix=")), ""
        )
        return "LIST", unquote(prefix)
    return method, unquote(split.path)
