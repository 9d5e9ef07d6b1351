"""The service keeps its promises while several of its processes write the same graph."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from omnigraph_l2 import Repository
from omnigraph_testing import Answer, CutReply, FaultyS3, Operation, Rule

Serve = Callable[..., Any]
_PUBLISH = "*/__manifest/_versions/*"


def test_processes_race_and_nothing_is_lost(serve: Serve, tmp_path: Path) -> None:
    """Two processes; each point that was acknowledged is there, each is a commit of its own."""
    server = serve(str(tmp_path / "graph"), workers=2)
    assert server.http.put("/people/ann", json={"name": "Ann"}).status_code == 200
    refused = 0

    def add_point(_number: int) -> int:
        tries = 0
        while True:
            seen = server.http.get("/people/ann")
            person = {"name": "Ann", "points": seen.json()["points"] + 1}
            answer = server.http.put(
                "/people/ann", json=person, headers={"If-Match": seen.headers["ETag"]}
            )
            if answer.status_code == 200:
                return tries
            assert answer.status_code == 412, answer.text
            tries += 1

    with ThreadPoolExecutor(4) as threads:
        refused = sum(threads.map(add_point, range(12)))
    assert refused > 0, "nobody met anybody: this proves nothing"
    assert server.http.get("/people/ann").json()["points"] == 12
    server.stop()
    with Repository.open(tmp_path / "graph") as repo:
        assert len(repo.log()) == 1 + 1 + 12
        assert repo.verify().ok


def test_the_same_key_is_done_once(serve: Serve, tmp_path: Path) -> None:
    """Whichever process it reaches, also at once; for another request the key is refused."""
    server = serve(str(tmp_path / "graph"), workers=2)
    body = {"people": [{"id": "ann", "name": "Ann"}]}
    headers = {"Idempotency-Key": "load of Monday"}

    def send(_number: int) -> httpx.Response:
        return server.http.post("/graph", json=body, headers=headers)

    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(send, range(12)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["commit"] for answer in answers}) == 1
    other = server.http.post("/graph", json={"people": []}, headers=headers)
    assert (other.status_code, "another request" in other.text) == (422, True)


def test_each_refusal_says_what_to_do(serve: Serve, tmp_path: Path) -> None:
    """With the status that HTTP has for it; nothing of what was refused is there."""
    http = serve(str(tmp_path / "graph")).http
    first = {"people": [{"id": "ann", "name": "Ann"}, {"id": "bob", "name": "Bob"}]}
    commit = http.post("/graph", json=first).json()["commit"]
    assert http.get("/graph").headers["ETag"] == f'"{commit}"'

    assert http.get("/people/zoe").status_code == 404
    assert http.get("/commits/nobody").status_code == 404
    bad = {"people": [{"id": "cat", "name": None, "points": "many", "wings": 2}]}
    answer = http.post("/graph", json=bad)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert {each["column"] for each in answer.json()["problems"]} >= {"points", "wings"}
    dangling = {"knows": [{"id": "1", "src": "ann", "dst": "zoe", "since": 2020}]}
    answer = http.post("/graph", json=dangling)
    assert (answer.status_code, answer.json()["problems"][0]["missing"]) == (422, ["zoe"])
    answer = http.post("/graph", json=first)
    assert answer.status_code == 409
    assert [each["id"] for each in answer.json()["problems"]] == ["ann", "bob"]
    assert http.post("/graph", json={"people": 7}).status_code == 422
    assert http.post("/graph", json={}).status_code == 422

    new = {"If-None-Match": "*"}
    assert http.put("/people/ann", json={"name": "A"}, headers=new).status_code == 412
    assert http.put("/people/it's", json={"name": "I"}, headers=new).status_code == 200
    stale = http.post("/graph", json={"people": [{"id": "x"}]}, headers={"If-Match": f'"{commit}"'})
    assert stale.status_code == 412
    assert http.delete("/people/it's").status_code == 204
    assert http.delete("/people/it's").status_code == 404
    graph = http.get("/graph").json()
    assert sorted(person["id"] for person in graph["people"]) == ["ann", "bob"]
    assert graph["knows"] == []


def test_an_outcome_that_nobody_knows(serve: Serve, faulty_s3: FaultyS3) -> None:
    """503 with the id of the commit; it can be looked up, and sent again without doing it twice."""
    http = serve(faulty_s3.uri("graph"), faulty_s3.storage_options).http
    assert http.put("/people/ann", json={"name": "Ann"}).status_code == 200
    after: list[Operation] = []

    def gone(operation: Operation) -> bool:
        """The store takes the publish, and then says nothing more."""
        publish = operation.method == "PUT" and "/__manifest/_versions/" in operation.key
        if after or publish:
            after.append(operation)
        return len(after) > 1

    faulty_s3.inject(Rule(CutReply(), "PUT", key=_PUBLISH, times=1))
    faulty_s3.inject(Rule(Answer(403), predicate=gone))
    headers = {"Idempotency-Key": "bob comes"}
    body: dict[str, Any] = {"people": [{"id": "bob", "name": "Bob"}]}
    answer = http.post("/graph", json=body, headers=headers)
    assert answer.status_code == 503, answer.text
    told = answer.json()
    assert told["look"] in answer.headers["Link"]

    faulty_s3.clear()
    assert http.get(told["look"]).json()["commit"] == told["commit"]
    again = http.post("/graph", json=body, headers=headers)
    assert (again.status_code, again.json()["commit"]) == (201, told["commit"])


def test_a_slow_store_blocks_nobody_and_an_end_is_graceful(
    serve: Serve, faulty_s3: FaultyS3
) -> None:
    """One process answers others while a write waits; told to end, it answers that one first."""
    server = serve(faulty_s3.uri("graph"), faulty_s3.storage_options)
    assert server.http.put("/people/ann", json={"name": "Ann"}).status_code == 200
    held = faulty_s3.hold("PUT", key=_PUBLISH)
    answers: list[int] = []
    slow = threading.Thread(
        target=lambda: answers.append(
            server.http.put("/people/bob", json={"name": "Bob"}).status_code
        )
    )
    slow.start()
    held.wait()
    assert server.http.get("/health").status_code == 200
    assert server.http.get("/people/ann").status_code == 200
    server.process.terminate()
    held.release()
    slow.join()
    assert answers == [200]
    server.stop()
    store = faulty_s3.direct
    leases = [key for key in _keys(store) if "/_refs/leases/" in key]
    assert leases == [], "a process that ended gives its lease back"
    with Repository.open(store.uri("graph"), store.storage_options) as repo:
        assert repo.snapshot().tables["node:Person"].row_count == 2


def _keys(store: Any) -> list[str]:
    return [each["path"] for each in store.obstore().list().collect()]
