"""The server of the page: on this machine only, for who has the address only, to read only.

Always: it listens on 127.0.0.1, answers GET and nothing else, to requests that name this host and
port and begin with the secret part of the address, and never sends a trace of what went wrong.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final
from urllib.parse import parse_qsl

from omnigraph_l2 import Repository
from omnigraph_l2._explore.answers import Answers
from omnigraph_l2._explore.assets import INDEX, Asset, assets
from omnigraph_l2._explore.told import problem_told, status_of
from omnigraph_l2.errors import InvalidRequest

__all__ = ["Server", "serve"]

_LOOPBACK: Final = "127.0.0.1"
_LARGEST_PORT: Final = 65_535
_API: Final = "api/"
_PARAMETERS: Final = 20
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server:
    """Serves the page of one repository until it is closed. ``url`` is what to open."""

    def __init__(self, repo: Repository, port: int = 0) -> None:
        if not 0 <= port <= _LARGEST_PORT:
            reason = f"a port is a number from 0 to {_LARGEST_PORT:,}, found {port}"
            raise InvalidRequest(what="Serving the page", reason=reason)
        try:
            self._http = _Http((_LOOPBACK, port), repo)
        except OSError as error:
            reason = f"port {port} cannot be listened on ({error.strerror}); 0 takes any free one"
            raise InvalidRequest(what="Serving the page", reason=reason) from error
        self.port: int = self._http.server_address[1]
        self.url = f"http://{_LOOPBACK}:{self.port}/{self._http.token}/"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Serve until this thread is interrupted, or the server is closed by another."""
        while self._thread.is_alive():
            self._thread.join(1.0)

    def close(self) -> None:
        """Stop. The repository stays open."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Server:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def serve(repo: Repository, *, port: int = 0) -> Server:
    """Begin to serve the page of a repository, on any free port by default."""
    return Server(repo, port)


class _Http(ThreadingHTTPServer):
    """What the requests of one server share."""

    daemon_threads = True
    block_on_close = False  # who waits for a long answer may be gone
    allow_reuse_address = False

    def __init__(self, address: tuple[str, int], repo: Repository) -> None:
        self.answers = Answers(repo)
        self.assets: Mapping[str, Asset] = assets()
        self.token = secrets.token_urlsafe(24)
        super().__init__(address, _Handler)
        port = self.server_address[1]
        self.hosts = frozenset({f"{_LOOPBACK}:{port}", f"localhost:{port}"})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over browsers that went away."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: _Http
    server_version = "omnigraph-explore"
    sys_version = ""
    protocol_version = "HTTP/1.0"  # one answer for each connection: a server that ended is gone
    timeout = 60

    def do_GET(self) -> None:
        """Answer a question or give a file."""
        try:
            status, asset = self._found()
        except Exception as error:  # noqa: BLE001 - no trace of it leaves, whatever it is
            status, asset = status_of(error), _as_json(problem_told(error))
        self._send(status, asset)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request, or another method than GET: as JSON, like all the rest."""
        self.close_connection = True
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code, message = HTTPStatus.METHOD_NOT_ALLOWED, "This server answers GET only."
        del explain
        told = message or HTTPStatus(code).phrase
        self._send(code, _refusal(HTTPStatus(code).name.lower(), told))

    def _found(self) -> tuple[int, Asset]:
        refused = self._refused()
        if refused is not None:
            return refused
        path, _, query = self.path.partition("?")
        name = path.removeprefix(f"/{self.server.token}/")
        if name.startswith(_API):
            answer = self.server.answers.answer(name.removeprefix(_API), _given(query))
            return HTTPStatus.OK, _as_json(answer)
        asset = self.server.assets.get(name or INDEX)
        if asset is None:
            return HTTPStatus.NOT_FOUND, _refusal("not_found", "There is no such file.")
        return HTTPStatus.OK, asset

    def _refused(self) -> tuple[int, Asset] | None:
        """Refuse who was led here under another name, from another page, or has no token."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            told = "This server is asked by the address that it was started with."
            return HTTPStatus.MISDIRECTED_REQUEST, _refusal("misdirected_request", told)
        if self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            told = "Other pages may not ask this server."
            return HTTPStatus.FORBIDDEN, _refusal("forbidden", told)
        token, slash, _ = self.path.removeprefix("/").partition("/")
        mine = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not (mine and slash):
            told = "The address has a secret part, which is not there."
            return HTTPStatus.NOT_FOUND, _refusal("not_found", told)
        return None

    def _send(self, status: int, asset: Asset) -> None:
        try:
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            if status == HTTPStatus.METHOD_NOT_ALLOWED:
                self.send_header("Allow", "GET")
            self.send_header("Content-Type", asset.kind)
            self.send_header("Content-Length", str(len(asset.content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(asset.content)
        except OSError:  # the browser went away
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet: the address has a secret in it."""


def _given(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict",
            max_num_fields=_PARAMETERS,
        )  # fmt: skip
    except (ValueError, UnicodeDecodeError) as error:
        reason = "its parameters are no name=value&name=value in UTF-8"
        raise InvalidRequest(what="This question", reason=reason) from error
    if len(dict(pairs)) < len(pairs):
        raise InvalidRequest(what="This question", reason="it has a parameter twice")
    return dict(pairs)


def _refusal(kind: str, told: str) -> Asset:
    return _as_json({"error": {"kind": kind, "type": "Refused", "message": told}})


def _as_json(told: Mapping[str, Any]) -> Asset:
    content = json.dumps(told, ensure_ascii=True, separators=(",", ":")).encode()
    return Asset("application/json; charset=utf-8", content)
