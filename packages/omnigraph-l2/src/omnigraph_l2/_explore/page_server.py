"""The HTTP server of the page: local, read-only, and accessible only with its secret address.

Invariant: the server listens on 127.0.0.1. It answers only GET requests that name this host and
port and begin with the secret part of the address. It never sends a traceback.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl

from omnigraph_l2 import Repository
from omnigraph_l2._explore.json_api import JsonApi
from omnigraph_l2._explore.page_assets import INDEX, Asset, read_assets
from omnigraph_l2._explore.serialize import http_status, serialize_error
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
    """Serves the page of one repository until it is closed. ``url`` is its address."""

    def __init__(self, repo: Repository, port: int = 0) -> None:
        if not 0 <= port <= _LARGEST_PORT:
            reason = f"expected a whole number from 0 to {_LARGEST_PORT:,}"
            raise InvalidRequest(what=f"port {port}", reason=reason)
        try:
            self._http = _Http((_LOOPBACK, port), repo)
        except OSError as error:
            reason = f"it cannot be listened on ({error.strerror}). Use 0 for any free port"
            raise InvalidRequest(what=f"port {port}", reason=reason) from error
        self.port: int = self._http.server_address[1]
        self.url = f"http://{_LOOPBACK}:{self.port}/{self._http.token}/"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Wait until this thread is interrupted or another one closes the server."""
        while self._thread.is_alive():
            self._thread.join(1.0)

    def close(self) -> None:
        """Stop the server. The repository stays open."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Server:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(repo: Repository, *, port: int = 0) -> Server:
    """Start a server for the page of a repository, on any free port by default."""
    return Server(repo, port)


class _Http(ThreadingHTTPServer):
    """The state that the requests of one server share."""

    daemon_threads = True
    block_on_close = False  # do not wait for clients that have gone away
    allow_reuse_address = False

    def __init__(self, address: tuple[str, int], repo: Repository) -> None:
        self.api = JsonApi(repo)
        self.assets: Mapping[str, Asset] = read_assets()
        self.token = secrets.token_urlsafe(24)
        super().__init__(address, _Handler)
        port = self.server_address[1]
        self.hosts = frozenset({f"{_LOOPBACK}:{port}", f"localhost:{port}"})

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that went away."""


class _Handler(BaseHTTPRequestHandler):
    """JsonApi one connection."""

    server: _Http
    server_version = "omnigraph-explore"
    sys_version = ""
    protocol_version = "HTTP/1.0"  # no connection outlives the server
    timeout = 60

    def do_GET(self) -> None:
        """Answer a request of the API or send a file."""
        try:
            status, asset = self._respond()
        except Exception as error:  # noqa: BLE001 - no traceback is sent
            status, asset = http_status(error), _as_json(serialize_error(error))
        self._send(status, asset)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Reject an invalid request, or another method than GET, as JSON."""
        self.close_connection = True
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code, message = HTTPStatus.METHOD_NOT_ALLOWED, "This server supports only GET."
        del explain
        message = message or HTTPStatus(code).phrase
        self._send(code, _refusal(HTTPStatus(code).name.lower(), message))

    def _respond(self) -> tuple[int, Asset]:
        refused = self._check_request()
        if refused is not None:
            return refused
        path, _, query = self.path.partition("?")
        name = path.removeprefix(f"/{self.server.token}/")
        if name.startswith(_API):
            answer = self.server.api.answer(name.removeprefix(_API), _parse_query(query))
            return HTTPStatus.OK, _as_json(answer)
        asset = self.server.assets.get(name or INDEX)
        if asset is None:
            return HTTPStatus.NOT_FOUND, _refusal("not_found", "No such file.")
        return HTTPStatus.OK, asset

    def _check_request(self) -> tuple[int, Asset] | None:
        """Reject requests for another host name, from another page, or without the token."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            message = "Use the address that the server has printed."
            return HTTPStatus.MISDIRECTED_REQUEST, _refusal("misdirected_request", message)
        if self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            message = "Requests from other pages are rejected."
            return HTTPStatus.FORBIDDEN, _refusal("forbidden", message)
        token, slash, _ = self.path.removeprefix("/").partition("/")
        mine = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not (mine and slash):
            message = "The secret part of the address is missing."
            return HTTPStatus.NOT_FOUND, _refusal("not_found", message)
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
        """Do not log: the address contains a secret."""


def _parse_query(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict",
            max_num_fields=_PARAMETERS,
        )  # fmt: skip
    except (ValueError, UnicodeDecodeError) as error:
        reason = "expected parameters name=value&name=value in UTF-8"
        raise InvalidRequest(what="query string", reason=reason) from error
    if len(dict(pairs)) < len(pairs):
        raise InvalidRequest(what="query string", reason="duplicate parameter")
    return dict(pairs)


def _refusal(kind: str, message: str) -> Asset:
    return _as_json({"error": {"kind": kind, "type": "Refused", "message": message}})


def _as_json(message: Mapping[str, Any]) -> Asset:
    content = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()
    return Asset("application/json; charset=utf-8", content)
