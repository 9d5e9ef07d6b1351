"""What one does with a graph: load, look, branch, change, compare, merge, travel back."""

from __future__ import annotations

from pathlib import Path

import debian_graph as debian
from telling import chapter, code, seen, table

from omnigraph_l2 import Repository


def create(place: Path) -> Repository:
    """Make a repository."""
    chapter(
        "Create",
        "A graph is a folder of Lance datasets, one for each type of node and of edge, and a "
        "catalog that says which version of each is visible. There is no server.",
    )
    code(f'repo = Repository.init("{place}", schema, actor="ann")')
    repo = Repository.init(place, debian.SCHEMA, actor="ann")
    seen(f"four empty tables: {', '.join(repo.snapshot().tables)}")
    return repo


def load(repo: Repository, somebody_else: Repository) -> str:
    """Fill all tables in one transaction, while another program looks on; give the commit."""
    chapter(
        "Load, all or nothing",
        "The packages of Debian 12 and what they need of each other: four tables, one transaction. "
        "Another program looks while it is at work.",
    )
    code("""
        with repo.transaction(message="Debian 12") as tx:
            tx.append("node:Package", packages)
            tx.append("edge:Needs", needs)          # and both tables of sections
    """)
    rows = debian.package_rows(debian.RELEASE)
    sections, is_in = debian.section_rows(debian.RELEASE)
    needs = debian.needs_rows(debian.RELEASE, {row["id"]: row for row in rows})
    with repo.transaction(message="Debian 12") as tx:
        tx.append("node:Package", rows)
        tx.append("node:Section", sections)
        tx.append("edge:Needs", needs)
        tx.append("edge:IsIn", is_in)
        inside = tx.read("node:Package", columns=["id"]).num_rows
        outside = somebody_else.snapshot().tables["node:Package"].row_count
    after = somebody_else.snapshot().tables
    seen(f"before the end, this transaction reads {inside:,} packages, the other program {outside}")
    counts = ", ".join(f"{entry.row_count:,} in {key}" for key, entry in after.items())
    seen(f"after it, the other program reads all four tables, at one moment: {counts}")
    assert tx.commit is not None
    return tx.commit.graph_commit_id


def look(repo: Repository) -> None:
    """Ask the graph something."""
    chapter(
        "Look",
        "A snapshot is the whole graph at one moment, whatever others publish. Its tables are "
        "Arrow, its datasets are Lance: your tools read them.",
    )
    code("""
        now = repo.snapshot()
        needs = now.read("edge:Needs", columns=["src", "dst"], filter="kind <> 'Recommends'")
    """)
    needs = repo.snapshot().read(
        "edge:Needs", columns=["src", "dst"], filter="kind <> 'Recommends'"
    )
    counted = needs.group_by("dst").aggregate([("src", "count_distinct")])
    most = counted.sort_by([("src_count_distinct", "descending"), ("dst", "ascending")]).slice(0, 3)
    table(
        {"package": row["dst"], "needed by": row["src_count_distinct"]}
        | {"directly or not": len(debian.reached_from(needs, row["dst"]))}
        for row in most.to_pylist()
    )


def branch(repo: Repository) -> None:
    """Bring the security updates into a branch of their own."""
    chapter(
        "Branch, and change",
        "Security updates are tried on a branch. It costs no copy, and whoever reads main sees "
        "nothing of it. What the new versions need replaces what the old ones needed.",
    )
    code("""
        repo.branches.create("security")
        with repo.transaction("security", message="security updates") as tx:
            tx.upsert("node:Package", updates)
            tx.delete("edge:Needs", ids=needs_of_the_old)
            tx.append("edge:Needs", needs_of_the_new)
    """)
    repo.branches.create("security")
    old = debian.versions(repo)
    updates = {
        row["id"]: row
        for row in debian.package_rows(debian.SECURITY)
        if debian.is_newer(row["version"], old[row["id"]])
    }
    needs = [row for row in debian.needs_rows(debian.SECURITY, old) if row["src"] in updates]
    before = repo.snapshot("security").read("edge:Needs", columns=["id", "src"]).to_pylist()
    with repo.transaction("security", actor="bob", message="security updates") as tx:
        tx.upsert("node:Package", list(updates.values()))
        tx.delete("edge:Needs", ids=[row["id"] for row in before if row["src"] in updates])
        tx.append("edge:Needs", needs)
    on_branch, on_main = (debian.versions(repo, name)["openssl"] for name in ("security", "main"))
    seen(f"openssl on security: {on_branch}, on main: {on_main}")
    with repo.transaction(message="a package of ours") as tx:
        tx.append("node:Package", [{"id": "our-shop", "version": "1.0", "kilobytes": 12}])
        row = {"id": "our-shop Depends openssl", "src": "our-shop", "dst": "openssl"}
        tx.append("edge:Needs", [row | {"kind": "Depends"}])
    seen("main goes on meanwhile: it gets a package of ours, which needs openssl")


def diff(repo: Repository) -> None:
    """Look at what a merge would bring."""
    chapter(
        "Diff",
        "What differs between two branches, tags, commits or moments: counts first, rows as a "
        "stream. Tables that did not change cost nothing.",
    )
    code("""
        diff = repo.diff("main", "security")
        for batch in diff.rows("node:Package"): ...
    """)
    found = repo.diff("main", "security")
    changes = found.rows("node:Package")
    rows = {row["id"]: row for batch in changes for row in batch.to_pylist()}
    table(
        {"table": key, "inserted": each.inserted, "updated": each.updated, "deleted": each.deleted}
        for key, each in found.tables.items()
    )
    table(
        {"package": name, "on main": rows[name]["before"]["version"]}
        | {"on security": rows[name]["after"]["version"]}
        for name in ("firefox-esr", "linux-image-amd64", "openssl")
    )


def merge(repo: Repository) -> str:
    """Merge the branch; give the commit."""
    chapter(
        "Merge",
        "Row by row, as one commit with two parents. Where both sides had changed a row "
        "differently, nothing would be done, and all conflicts listed.",
    )
    code('repo.branches.merge("security", message="security updates, tried")')
    result = repo.branches.merge("security", message="security updates, tried")
    for name in ("openssl", "our-shop"):
        seen(f"{name} on main: {debian.versions(repo)[name]}")
    assert result.commit is not None
    return result.commit.graph_commit_id


def travel(repo: Repository, first: str) -> None:
    """Read an older moment."""
    chapter(
        "Travel back",
        "Every commit can be read again, by its id, a tag, a version or a time, until a cleanup "
        "that you start takes what is older than you want to keep.",
    )
    code("""
        repo.tags.create("as-released", source=first)
        repo.snapshot(tag="as-released").read("node:Package", filter="id = 'openssl'")
    """)
    repo.tags.create("as-released", source=first)
    snapshot = repo.snapshot(tag="as-released")
    (openssl,) = snapshot.read("node:Package", filter="id = 'openssl'").to_pylist()
    seen(f"openssl as released: {openssl['version']}, now: {debian.versions(repo)['openssl']}")


def undo(repo: Repository) -> None:
    """Publish the inverse of a commit, after others went on."""
    chapter(
        "Undo",
        "Somebody empties a column by mistake, and others go on before it is seen. A revert is a "
        "new commit that takes back one, and only that one.",
    )
    code("repo.revert(mistake)")

    def sizes() -> int:
        return sum(repo.snapshot().read("node:Package")["kilobytes"].to_pylist())

    before = sizes()
    packages = repo.snapshot().read("node:Package", columns=["id"])["id"].to_pylist()
    with repo.transaction(actor="bob", message="oops") as tx:
        tx.upsert("node:Package", [{"id": name, "kilobytes": 0} for name in packages])
    mistake, wrong = tx.commit, sizes()
    with repo.transaction(message="a second package of ours") as tx:
        tx.append("node:Package", [{"id": "our-bank", "version": "1.0", "kilobytes": 0}])
    assert mistake is not None
    repo.revert(mistake.graph_commit_id)
    seen(f"kilobytes in all: {before:,} before, {wrong} by mistake, {sizes():,} after the revert")
    seen(
        f"what came after the mistake is still there: our-bank {debian.versions(repo)['our-bank']}"
    )
