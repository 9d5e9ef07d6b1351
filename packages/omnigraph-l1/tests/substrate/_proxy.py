"""A small HTTP proxy before an S3 server: it notes each request, and can hold one or lose a reply.

It passes requests on unchanged, the Host header included, because that is signed. Other faults are
not its business: omnigraph_testing has a gateway for those.
"""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import attrs

PATIENCE = 20.0
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}

Matcher = Callable[[str, str], bool]


def matching(verb: str, part: str) -> Matcher:
    """Match requests of that verb whose key has ``part`` in it."""
    return lambda found, key: found == verb and part in key


@attrs.frozen
class Request:
    """One request: a verb (LIST for listings) and the key, or the prefix that is listed."""

    verb: str
    key: str
    status: int


@attrs.define
class Plan:
    """What should happen to the first request that matches. ``arrived`` is set when it is there."""

    matches: Matcher
    loses_reply: bool
    arrived: threading.Event = attrs.field(factory=threading.Event)
    released: threading.Event = attrs.field(factory=threading.Event)
    done: threading.Event = attrs.field(factory=threading.Event)

    def wait(self) -> None:
        """Return when the request is there, and fail if it never comes."""
        assert self.arrived.wait(PATIENCE), "the request that was waited for never came"

    def release(self) -> None:
        """Let the request go on, and return when the server has answered it."""
        self.released.set()
        assert self.done.wait(PATIENCE), "the request that was held got no answer"


class Proxy:
    """A running proxy. ``endpoint`` is where clients go instead of the server."""

    def __init__(self, upstream: str, *, keep_host: bool = True) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.keep_host = keep_host
        self.requests: list[Request] = []
        self._plans: list[Plan] = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
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
        """Count the requests made inside by their verb; the counter is filled at the end."""
        counts: Counter[str] = Counter()
        start = len(self.requests)
        yield counts
        counts.update(request.verb for request in self.requests[start:])

    @contextmanager
    def hold(self, matches: Matcher) -> Iterator[Plan]:
        """Hold the first request that matches until it is released, or the block ends."""
        plan = self._add(Plan(matches, loses_reply=False))
        try:
            yield plan
        finally:
            plan.released.set()

    def lose_reply(self, matches: Matcher) -> Plan:
        """Carry out the first request that matches, and cut the connection instead of answering."""
        plan = Plan(matches, loses_reply=True)
        plan.released.set()
        return self._add(plan)

    def _add(self, plan: Plan) -> Plan:
        with self._lock:
            self._plans.append(plan)
        return plan

    def note(self, request: Request) -> None:
        """Write down what was answered."""
        with self._lock:
            self.requests.append(request)

    def plan_for(self, verb: str, key: str) -> Plan | None:
        """Take the plan for this request, if there is one."""
        with self._lock:
            for plan in self._plans:
                if plan.matches(verb, key):
                    self._plans.remove(plan)
                    return plan
        return None


class _Handler(BaseHTTPRequestHandler):
    owner: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _connection: http.client.HTTPConnection | None = None

    def _pass_on(self) -> None:
        verb, key = _what(self.command, self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        plan = self.owner.plan_for(verb, key)
        if plan is not None:
            plan.arrived.set()
            plan.released.wait(PATIENCE)
        answer, content = self._ask(body)
        self.owner.note(Request(verb, key, answer.status))
        if plan is not None:
            plan.done.set()
            if plan.loses_reply:
                self.close_connection = True
                return
        try:
            self._answer(answer, content)
        except OSError:  # the client gave up while its request was held
            self.close_connection = True

    def _ask(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self.owner.upstream, timeout=PATIENCE)
        keep = self.owner.keep_host
        self._connection.putrequest(
            self.command, self.path, skip_host=keep, skip_accept_encoding=True
        )
        for name, value in self.headers.items():
            if name.lower() not in {"connection", "keep-alive"} | (set() if keep else {"host"}):
                self._connection.putheader(name, value)
        self._connection.endheaders(body)
        answer = self._connection.getresponse()
        return answer, answer.read()

    def _answer(self, answer: http.client.HTTPResponse, content: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - as http.server names them

    def finish(self) -> None:
        """Close both sides."""
        if self._connection is not None:
            self._connection.close()
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Say nothing on stderr."""


def _what(method: str, path: str) -> tuple[str, str]:
    split = urlsplit(path)
    if method == "GET" and "list-type=2" in split.query:
        return "LIST", parse_qs(split.query).get("prefix", [""])[0]
    return method, unquote(split.path)
