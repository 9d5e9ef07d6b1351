"""What goes wrong, and what happens then: edges to nowhere, two writers, a killed process."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path

import debian_graph as debian
from telling import chapter, code, refused, seen

from omnigraph_l2 import Repository, Transaction
from omnigraph_l2.errors import DanglingEdges, ExpectedVersionMismatch


def half_a_change(repo: Repository) -> None:
    """Try to remove a package that others need."""
    chapter(
        "A change that would break the graph is refused",
        "An edge must not lose an end. That is checked at the very moment of the publish, against "
        "whatever others do, and nothing of the transaction becomes visible.",
    )
    code("""
        with repo.transaction() as tx:
            tx.delete("node:Package", ids=["our-shop", "openssl"])
    """)
    try:
        with repo.transaction() as tx:
            tx.delete("node:Package", ids=["our-shop", "openssl"])
    except DanglingEdges as error:
        refused(error)
    there = debian.versions(repo)
    seen(f"both are there: our-shop {there['our-shop']}, openssl {there['openssl']}")


def claim_one(tx: Transaction, who: str) -> str:
    """Take the first package that nobody has checked, as this transaction reads it."""
    free = tx.read("node:Package", columns=["id"], filter="checked_by IS NULL")
    name = min(free["id"].to_pylist())
    tx.upsert("node:Package", [{"id": name, "checked_by": who}])
    return name


def two_writers(ann: Repository, bob: Repository) -> None:
    """Let two writers decide by what is out of date for one of them."""
    chapter(
        "Two writers, and only one can be right",
        "Ann and Bob both take the first package that nobody has checked, at one moment. Whoever "
        "publishes second decided by what is no longer true. That is told, never overwritten; "
        "repo.retry asks the function again.",
    )
    code("""
        with ann.transaction() as hers, bob.transaction() as his:
            claim_one(hers, "Ann"), claim_one(his, "Bob")
    """)
    try:
        with ann.transaction(message="Ann takes one") as hers:
            first = claim_one(hers, "Ann")
            with bob.transaction(message="Bob takes one", actor="bob") as his:
                claim_one(his, "Bob")
            seen(f"Bob was first, and has {first}")
    except ExpectedVersionMismatch as error:
        refused(error)
    code('ann.retry(lambda tx: claim_one(tx, "Ann"))')
    again = ann.retry(lambda tx: claim_one(tx, "Ann"), message="Ann takes one")
    seen(f"decided anew, Ann takes {again}: nothing was taken twice, nothing was locked")


def write_and_wait(place: Path, told: Connection) -> None:
    """Write all rows of a transaction, tell so, and never come to its end."""
    with Repository.open(place, actor="mallory").transaction() as tx:
        tx.append("node:Package", [{"id": "ghost", "version": "6.66"}])
        tx.append("node:Section", [{"id": "ghosts"}])
        tx.read("node:Package")  # now the datasets have new versions, with the rows
        tx.read("node:Section")
        told.send("written")
        told.recv()


def crash(repo: Repository, place: Path) -> None:
    """Kill a process in the middle of its work, and go on."""
    chapter(
        "A process is killed in the middle",
        "Another process has written rows into two tables, and gets a SIGKILL before it publishes. "
        "The rows are on the disk; they are in no commit, and must never get into somebody "
        "else's.",
    )
    code("os.kill(writer, SIGKILL)")
    here, there = multiprocessing.Pipe()
    spawning = multiprocessing.get_context("spawn")
    writer = spawning.Process(target=write_and_wait, args=(place, there))
    writer.start()
    here.recv()
    writer.kill()
    writer.join()
    entry = repo.snapshot().tables["node:Package"]
    dataset = repo.snapshot().dataset("node:Package")
    newest = dataset.checkout_version(dataset.latest_version)
    ghosts = newest.count_rows("id = 'ghost'")
    seen(f"exit status {writer.exitcode}; version {newest.version} of the dataset: {ghosts} ghost")
    seen(f"the graph shows version {entry.table_version}: ghost is {_there(repo)}")
    with repo.transaction(message="the next writer") as tx:
        tx.upsert("node:Package", [{"id": "our-shop", "version": "1.1"}])
    seen(f"the next writer just works, with no repair: ghost is {_there(repo)}")
    found = repo.verify()
    seen(f"repo.verify() read {found.checked['rows']:,} rows: {'whole' if found.ok else found}")


def _there(repo: Repository) -> str:
    return "there" if "ghost" in debian.versions(repo) else "not there"
