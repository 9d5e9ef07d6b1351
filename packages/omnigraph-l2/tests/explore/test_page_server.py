"""The server answers only local clients that know its address, and only reads."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from page_access import Server, serve
from sample_graphs import PERSON, commit_on, person, schema

from omnigraph_l2 import Repository
from omnigraph_l2.errors import InvalidRequest


@pytest.fixture
def server(repo: Repository) -> Iterator[Server]:
    """Serve the story."""
    with serve(repo) as server:
        yield server


class Reply:
    """What came back."""

    def __init__(self, reply: http.client.HTTPResponse) -> None:
        self.status = reply.status
        self.headers = {name.lower(): value for name, value in reply.getheaders()}
        self.body = reply.read()

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    @property
    def kind(self) -> str:
        """The kind of the error."""
        kind: str = self.document["error"]["kind"]
        return kind


def send(server: Server, path: str, method: str = "GET", **headers: str) -> Reply:
    """Send a request, as plainly as can be; ``{}`` in the path is the secret part."""
    secret = urlsplit(server.url).path.strip("/")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path.replace("{}", secret), skip_host="Host" in given)
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders()
        return Reply(connection.getresponse())
    finally:
        connection.close()


def test_it_gives_the_page_its_files_and_answers(server: Server) -> None:
    """Each file with its type, each answer as JSON, none to be stored or to be read by others."""
    for path, kind in {
        "/{}/": "text/html",
        "/{}/index.html": "text/html",
        "/{}/style.css": "text/css",
        "/{}/app.js": "text/javascript",
        "/{}/api/about": "application/json",
        "/{}/api/error": "application/json",
    }.items():
        reply = send(server, path)
        assert reply.headers["content-type"] == f"{kind}; charset=utf-8"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert not any(name.startswith("access-control") for name in reply.headers)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
    assert send(server, "/{}/api/tables?at=branch:main").document["count"] == 2


def test_it_listens_on_this_machine_only(server: Server) -> None:
    """Bound to loopback, on a port of its own."""
    assert server.url.startswith(f"http://127.0.0.1:{server.port}/")
    with socket.socket() as other:
        other.settimeout(5)
        address = socket.gethostbyname(socket.gethostname())
        if not address.startswith("127."):
            assert other.connect_ex((address, server.port)) != 0


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_only_get_is_answered(server: Server, method: str) -> None:
    """Every other method is 405, and says what is allowed."""
    reply = send(server, "/{}/api/about", method)
    assert (reply.status, reply.headers["allow"]) == (405, "GET")


@pytest.mark.parametrize(
    "host", ["example.org", "127.0.0.1", "127.0.0.1:1", "evil.example:80", "", "[::1]"]
)
def test_another_name_of_the_host_is_refused(server: Server, host: str) -> None:
    """A page that had its own name lead here (DNS rebinding) reads nothing."""
    reply = send(server, "/{}/api/about", Host=host)
    assert (reply.status, reply.kind) == (421, "misdirected_request")


def test_localhost_is_this_machine(server: Server) -> None:
    """Its name may be used, with the port."""
    assert send(server, "/{}/api/about", Host=f"localhost:{server.port}").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_other_pages_are_refused(server: Server, site: str) -> None:
    """What a browser sends on behalf of another page is not answered."""
    reply = send(server, "/{}/api/about", Sec_Fetch_Site=site)
    assert (reply.status, reply.kind) == (403, "forbidden")
    assert send(server, "/{}/api/about", Sec_Fetch_Site="same-origin").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api/about",
        "api/about",
        "index.html",
        "/{}",
        "/{}x/",
        "/x{}/",
        "/?/{}/",
        "/%2e/{}/",
        "/wrong/api/about",
        "/ü/",
    ],
)
def test_without_the_secret_there_is_nothing(server: Server, path: str) -> None:
    """No file and no answer, and not a word about the repository."""
    reply = send(server, quote(path, safe="/{}%?"))
    assert (reply.status, reply.kind) == (404, "not_found")
    assert b"graph" not in reply.body


@pytest.mark.parametrize(
    "name",
    [
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/server.py",
        "static/",
        "static/app.js",
        "app.js/",
        "/etc/passwd",
        "api",
        "favicon.ico",
        "__init__.py",
    ],
)
def test_no_other_file_can_be_had(server: Server, name: str) -> None:
    """Files have the names that they have; folders are not listed."""
    reply = send(server, "/{}/" + name)
    assert (reply.status, reply.kind) == (404, "not_found")


@pytest.mark.parametrize(
    ("question", "status", "kind"),
    [
        ("tables", 400, "invalid_request"),
        ("tables?at=branch:unknown", 404, "unknown_branch"),
        ("tables?at=x&at=y", 400, "invalid_request"),
        ("tables?at", 400, "invalid_request"),
        ("tables?at=%ff", 400, "invalid_request"),
        ("tables?" + "&".join(f"p{n}=1" for n in range(30)), 400, "invalid_request"),
        (f"rows?at=branch:main&table={PERSON}&filter=((", 400, "invalid_filter"),
        (f"rows?at=branch:main&table={PERSON}&filter=%00", 400, "invalid_filter"),
        ("rows?at=branch:main&table=%00", 404, "unknown_table"),
        ("commit?id=%00", 404, "unknown_commit"),
        ("nothing", 404, "no_such_question"),
        ("../about", 404, "no_such_question"),
    ],
)
def test_an_error_is_reported_by_its_kind(
    server: Server, question: str, status: int, kind: str
) -> None:
    """As JSON with kind and message, and never with a trace of the program."""
    reply = send(server, f"/{{}}/api/{question}")
    assert (reply.status, reply.kind) == (status, kind), reply.body
    assert reply.document["error"]["message"]
    assert b"Traceback" not in reply.body
    assert b'.py"' not in reply.body


def test_an_unexpected_error_is_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is reported as an internal error, and the server continues."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("omnigraph_l2._explore.json_api.read_table_page", broken)
    reply = send(server, "/{}/api/tables?at=branch:main")
    assert (reply.status, reply.kind) == (500, "internal_error")
    assert send(server, "/{}/api/about").status == 200


@pytest.mark.parametrize(
    "request_",
    [b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\r\n"],
)
def test_what_is_no_request_is_refused(server: Server, request_: bytes) -> None:
    """The connection ends, and the server goes on."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(request_)
        connection.shutdown(socket.SHUT_WR)
        response = b"".join(iter(lambda: connection.recv(4096), b""))
    assert b"200" not in response.split(b"\r\n", 1)[0]
    assert send(server, "/{}/api/about").status == 200


def test_a_repository_that_goes_away(tmp_path: Path) -> None:
    """Questions are answered by typed errors, and again when it is back."""
    location = tmp_path / "graph"
    with Repository.init(location, schema(), durability="none") as made:
        commit_on(made, "main", "first", people=[person("Ann")])
    with Repository.open(location) as repo, serve(repo) as server:
        question = "/{}/api/tables?at=branch:main"
        assert send(server, question).status == 200
        location.rename(tmp_path / "elsewhere")
        for name in (
            question,
            "/{}/api/commits",
            "/{}/api/verify",
            "/{}/api/growth?at=branch:main",
        ):
            reply = send(server, name)
            assert b"Traceback" not in reply.body
            if reply.status != 200:
                assert reply.kind != "internal_error", reply.body
        shutil.rmtree(location, ignore_errors=True)  # what a lease has left
        (tmp_path / "elsewhere").rename(location)
        assert send(server, question).status == 200


def test_many_ask_at_once(server: Server, commits: dict[str, str]) -> None:
    """Each gets the answer to what it asked."""
    names = [*commits.values()] * 4
    found: dict[int, str] = {}

    def ask(number: int, name: str) -> None:
        found[number] = send(server, f"/{{}}/api/commit?id={name}").document["id"]

    threads = [threading.Thread(target=ask, args=each) for each in enumerate(names)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [found[number] for number in range(len(names))] == names


def test_two_servers_have_secrets_of_their_own(repo: Repository) -> None:
    """One's address opens nothing at the other."""
    with serve(repo) as one, serve(repo) as other:
        secret = urlsplit(one.url).path
        assert send(one, f"{secret}api/about").status == 200
        assert send(other, f"{secret}api/about").status == 404


def test_a_port_that_is_taken_or_none(repo: Repository) -> None:
    """A typed error that names the port."""
    with serve(repo) as server:
        with pytest.raises(InvalidRequest, match=str(server.port)):
            serve(repo, port=server.port)
        with pytest.raises(InvalidRequest, match="70000"):
            serve(repo, port=70_000)


def test_it_changes_nothing(story_graph: tuple[Path, dict[str, str]], server: Server) -> None:
    """Whatever is asked, every file of the graph stays as it is."""

    def files() -> dict[str, tuple[int, int]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_size)
            for path in story_graph[0].rglob("*")
            if path.is_file() and "leases" not in path.parts
        }

    before = files()
    for question in (
        "commits",
        "tables?at=branch:what-if",
        "growth?at=branch:main",
        f"changes?id={story_graph[1]['merge']}",
        f"rows?at=tag:v1&table={PERSON}&filter=city='Oslo'",
        "schema?at=branch:main",
        "verify?duplicates=1&dangling=1",
    ):
        assert send(server, f"/{{}}/api/{question}").status == 200
    assert files() == before


def test_every_file_of_the_page_is_sent(server: Server) -> None:
    """Each file of the page's folder is a part of the page, as it is there."""
    there = list((files("omnigraph_l2._explore") / "static").iterdir())
    assert "app.js" in {each.name for each in there}
    for each in there:
        reply = send(server, f"/{{}}/{each.name}")
        assert (reply.status, reply.body) == (200, each.read_bytes()), each.name
