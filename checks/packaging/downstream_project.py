"""Somebody else's tests: they installed ``omnigraph-testing[s3]``, and configured nothing."""

from __future__ import annotations

import os

from omnigraph_testing import AtMoment, CutReply, Rule, mark


def test_a_real_s3_server(s3_store):
    """The store takes what is put there."""
    store = s3_store.obstore()
    store.put("a.txt", b"hello")
    assert bytes(store.get("a.txt").bytes()) == b"hello"
    assert s3_store.uri("a.txt").startswith("s3://")


def test_a_lost_reply(faulty_s3):
    """The fault is carried out, and told in the log."""
    faulty_s3.inject(Rule(CutReply(), "PUT", times=1))
    faulty_s3.obstore().put("a.txt", b"hello")
    assert any(request.fault for request in faulty_s3.requests)


def test_a_budget(faulty_s3):
    """Requests are counted."""
    store = faulty_s3.obstore()
    with faulty_s3.expect(max_requests=1):
        store.put("a.txt", b"hello")


def work(place):
    """Write a file, and tell so."""
    with open(os.path.join(place, "a.txt"), "w") as file:
        file.write("hello")
    mark("written")


def test_a_process_of_its_own(crash, tmp_path):
    """It runs, and can be killed."""
    assert crash.run(work, str(tmp_path)).finished
    outcome = crash.run(work, str(tmp_path), kill=AtMoment(1, within=0.01))
    assert outcome.killed or outcome.finished


def test_power_cuts(crash, tmp_path):
    """An unsynced file can be lost, and the instrument shows it."""
    trace = crash.record(work, str(tmp_path), root=tmp_path)
    left = [
        state.materialise(tmp_path.parent / f"cut-{n}")
        for n, state in enumerate(trace.power_cuts())
    ]
    assert any(
        not (place / "a.txt").exists() or not (place / "a.txt").read_text() for place in left
    )
