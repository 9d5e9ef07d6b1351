"""Each kind of damage, and what is found of it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import lance
import pyarrow as pa
from damagework import (
    COMPANY,
    KNOWS,
    PEOPLE,
    PERSON,
    Damage,
    append,
    below,
    data_files,
    dataset,
    document,
    fork,
    later,
    native,
    publish_unchecked,
    publish_unseen,
    rewrite,
    update,
)

from omnigraph_l1 import Table, failpoints, table_path
from omnigraph_l2 import Repository, TableUpdate
from omnigraph_l2.reports import Severity

ULID = "01arz3ndektsv4rrffq69g5fav"
ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def drop_actor(repo: Repository) -> None:
    """Forget who made a commit."""
    dataset(repo, "_graph_commit_actors.lance").delete("actor_id = 'bob'")


def drop_middle_of_log(repo: Repository) -> None:
    """Lose a line of the log that is not the last."""
    middle = repo.log()[2].graph_commit_id
    dataset(repo, "_graph_commits.lance").delete(f"graph_commit_id = '{middle}'")


def drop_parent(repo: Repository) -> None:
    """Lose the first commit of all, which only the log has."""
    genesis = repo.log()[-1].graph_commit_id
    for branch in (None, native(repo)):
        dataset(repo, "_graph_commits.lance", branch).delete(f"graph_commit_id = '{genesis}'")
    for run in repo.runs.list():
        dataset(repo, "_graph_commits.lance", f"__run__{run.run_id}").delete(
            f"graph_commit_id = '{genesis}'"
        )


def fork_history(repo: Repository) -> None:
    """Let two commits follow one."""
    log = dataset(repo, "_graph_commits.lance")
    rows = log.to_table(filter="manifest_branch IS NULL").slice(2, 1).to_pylist()
    rows[0]["graph_commit_id"] = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    lance.write_dataset(pa.Table.from_pylist(rows, schema=log.schema), log, mode="append")


def hide_branch(repo: Repository) -> None:
    """Let another publisher make a branch of a name that we use."""
    fork(repo, "__manifest", "side")


def begin_deletion(repo: Repository) -> None:
    """Decide the deletion of a branch, and leave it at that."""

    def end_there(point: str) -> None:
        if point == "l2.branch.closed":
            raise InterruptedError

    repo.branches.create("closed")
    with failpoints.handling(end_there), suppress(InterruptedError):
        repo.branches.delete("closed")


def remove_native(repo: Repository) -> None:
    """Take away what the name of a branch means, and what else stands on it."""
    repo.tags.delete("v1")
    Table.open(below(repo, "__manifest"), durability="none").delete_branch(native(repo))


def remove_run_branch(repo: Repository) -> None:
    """Take away what a run works on."""
    (run,) = repo.runs.list()
    Table.open(below(repo, "__manifest"), durability="none").delete_branch(f"__run__{run.run_id}")


def lose_file(repo: Repository) -> None:
    """Delete a data file that everybody shows."""
    data_files(repo, COMPANY)[0].unlink()


def cut_file(repo: Repository) -> None:
    """Leave a data file empty that only the branch shows."""
    data_files(repo, PERSON, "side")[-1].write_bytes(b"")


def lose_index(repo: Repository) -> None:
    """Delete the files of the index that a table has of its ids."""
    repo.optimize([COMPANY])
    repo.flush()
    for each in below(repo, table_path(COMPANY)).glob("_indices/*/*"):
        each.unlink()


def lose_version(repo: Repository) -> None:
    """Delete the version of a table that is published."""
    table = repo.snapshot()._open(KNOWS)
    Path("/", table.manifest_path).unlink()


def repeat_id(repo: Repository) -> None:
    """Publish a row twice."""
    publish_unseen(repo, PERSON, [{"id": "ann", "mail": "other"}])


def repeat_value(repo: Repository) -> None:
    """Publish two rows with one mail address."""
    publish_unseen(repo, PERSON, [{"id": "new", "mail": "ann@x"}])


def dangle(repo: Repository) -> None:
    """Publish an edge to nowhere."""
    publish_unseen(repo, KNOWS, [{"id": "f", "src": "ann", "dst": "nobody"}])


def age_leftover(repo: Repository) -> None:
    """Leave a native branch that nothing names, long ago."""
    fork(repo, "__manifest", f"gone.{ULID}")
    later(repo)


def age_leftover_of_table(repo: Repository) -> None:
    """The same in a table."""
    fork(repo, PEOPLE, f"gone.{ULID}")
    later(repo)


def tear_version(repo: Repository) -> None:
    """Leave an empty file for the next version of a table."""
    table = repo.snapshot()._open(KNOWS)
    path = Path("/", table.manifest_path)
    number = 2**64 - 1 - table.version - 1
    (path.parent / f"{number:020d}.manifest").write_bytes(b"")


def fall_behind(repo: Repository) -> None:
    """Publish without anything after it, as a process does that is killed."""
    for name in ("xa", "xb"):
        append(repo, name)
    rewrite(
        document(repo, "branches/main"),
        manifest_version=repo.log()[1].manifest_version,
        head_commit_id=repo.log()[1].graph_commit_id,
    )


def repeat_row(repo: Repository) -> None:
    """Write a row of the catalog past its key."""
    catalog = dataset(repo, "__manifest")
    rows = catalog.to_table(filter="object_id = 'node:Company'")
    lance.write_dataset(rows, catalog, mode="append")


def change_parent(repo: Repository) -> None:
    """Let a commit, which the catalog has forgotten by now, stand in the log twice."""
    log = dataset(repo, "_graph_commits.lance")
    rows = log.to_table(filter="parent_commit_id IS NULL").to_pylist()
    rows[0]["manifest_version"] = 2
    rows[0]["parent_commit_id"] = repo.log()[2].merged_parent_commit_id or "x"
    lance.write_dataset(pa.Table.from_pylist(rows, schema=log.schema), log, mode="append")


def lose_log(repo: Repository) -> None:
    """Lose the log as a whole."""
    shutil.rmtree(below(repo, "_graph_commits.lance"))


def break_registry(repo: Repository) -> None:
    """Leave nothing of the registry of runs that can be read."""
    for file in below(repo, "_graph_runs.lance/_versions").iterdir():
        file.write_bytes(b"\1" * 64)


def lose_an_id(repo: Repository) -> None:
    """Publish a table whose ids may be null, and one that is."""
    table = repo.snapshot()._open(COMPANY)
    schema = pa.schema([pa.field("id", pa.string()), *list(table.schema)[1:]])
    made = table.replace_schema(schema).table
    made = made.append(pa.Table.from_pylist([{"id": None}], schema=schema)).table
    update = TableUpdate(table_key=COMPANY, table_version=made.version, row_count=1)
    publish_unchecked(repo, update)


LAST = "publish$00000000000000000005"
OF_A_TABLE = "object_type = 'table_version' AND table_key = 'node:Company'"

DAMAGE: dict[str, tuple[Damage, list[tuple[Severity, str]]]] = {
    "a version without a count": (
        lambda repo: update(repo, f"{OF_A_TABLE} AND table_version = 2", row_count="NULL"),
        [(ERROR, "catalog-row")],
    ),
    "metadata that is no JSON": (
        lambda repo: update(repo, f"{OF_A_TABLE} AND table_version = 2", metadata="'{'"),
        [(ERROR, "catalog-row")],
    ),
    "a location outside": (
        lambda repo: update(repo, "object_id = 'node:Company'", location="'../elsewhere'"),
        [(ERROR, "catalog-row"), (ERROR, "catalog-row"), (ERROR, "catalog-row")],
    ),
    "a commit that is none": (
        lambda repo: update(repo, f"object_id = '{LAST}'", metadata="'{}'"),
        [(ERROR, "catalog-row")],
    ),
    "a commit is lost": (
        lambda repo: dataset(repo, "__manifest").delete(
            "object_id = 'publish$00000000000000000003'"
        ),
        [(ERROR, "commit-missing")],
    ),
    "a row twice": (repeat_row, [(ERROR, "catalog-row-repeated")]),
    "a row of a commit to come": (
        lambda repo: update(
            repo, f"{OF_A_TABLE} AND table_version = 2", metadata="""'{"publish": 99}'"""
        ),
        [(ERROR, "row-without-commit")],
    ),
    "a commit with two parents": (
        change_parent,
        [(ERROR, "commit-differs"), (ERROR, "commit-missing")],
    ),
    "no log": (lose_log, [(ERROR, "log-unreadable")] * 3),
    "no registry": (break_registry, [(ERROR, "run-registry-unreadable")]),
    "a row without id": (lose_an_id, [(ERROR, "table-columns"), (ERROR, "null-id")]),
    "a count that is wrong": (
        lambda repo: update(repo, f"{OF_A_TABLE} AND table_version = 2", row_count="7"),
        [(ERROR, "row-count")],
    ),
    "a stamp from the future": (
        lambda repo: dataset(repo, "__manifest").update_schema_metadata(
            {"omnigraph:internal_schema_version": "99"}
        ),
        [(ERROR, "catalog-unreadable")],
    ),
    "a pointer that is no JSON": (
        lambda repo: document(repo, "branches/side").write_text("{"),
        [(ERROR, "pointer-unreadable")],
    ),
    "a pointer of another format": (
        lambda repo: rewrite(document(repo, "branches/side"), format=7),
        [(ERROR, "pointer-unreadable")],
    ),
    "a pointer ahead": (
        lambda repo: rewrite(document(repo, "branches/side"), manifest_version=999),
        [(ERROR, "pointer-ahead")],
    ),
    "a pointer at another commit": (
        lambda repo: rewrite(document(repo, "branches/main"), head_commit_id="x"),
        [(ERROR, "pointer-wrong")],
    ),
    "no pointer of main": (
        lambda repo: document(repo, "branches/main").unlink(),
        [(WARNING, "pointer-missing")],
    ),
    "a pointer and a log behind": (
        fall_behind,
        [(INFO, "pointer-behind"), (INFO, "log-behind")],
    ),
    "a deletion cut short": (begin_deletion, [(INFO, "branch-closed")]),
    "a pointer without branch": (remove_native, [(ERROR, "branch-missing")]),
    "a branch of another publisher hidden": (hide_branch, [(WARNING, "branch-hidden")]),
    "a tag of another format": (
        lambda repo: rewrite(document(repo, "tags/v1"), format=7),
        [(ERROR, "tag-unreadable")],
    ),
    "a tag of a version that is gone": (
        lambda repo: rewrite(document(repo, "tags/v1"), manifest_version=999),
        [(ERROR, "tag-unreadable")],
    ),
    "a tag of no commit": (
        lambda repo: rewrite(document(repo, "tags/v1"), graph_commit_id="x"),
        [(ERROR, "tag-without-commit")],
    ),
    "an operation that cannot be read": (
        lambda repo: next(below(repo, "_refs/operations").glob("*.json")).write_text("{"),
        [(ERROR, "operation-unreadable")],
    ),
    "a run of no known state": (
        lambda repo: dataset(repo, "_graph_runs.lance").update({"status": "'lost'"}),
        [(ERROR, "run-unreadable")],
    ),
    "a run without branch": (remove_run_branch, [(WARNING, "run-without-branch")]),
    "an actor is lost": (drop_actor, [(WARNING, "actor-missing")]),
    "a note is lost": (
        lambda repo: dataset(repo, "_graph_commit_notes.lance").delete("message = 'add bob'"),
        [(WARNING, "note-missing")],
    ),
    "a hole in the log": (drop_middle_of_log, [(WARNING, "log-behind")]),
    "the log says something else": (
        lambda repo: dataset(repo, "_graph_commit_actors.lance").update(
            {"actor_id": "'mallory'"}, where="actor_id = 'fay'"
        ),
        [(ERROR, "log-differs")],
    ),
    "no parent": (drop_parent, [(ERROR, "commit-missing")]),
    "two children": (fork_history, [(ERROR, "commit-forked")]),
    "a data file is gone": (lose_file, [(ERROR, "data-unreadable")]),
    "a data file is empty": (cut_file, [(ERROR, "data-unreadable")]),
    "an index is gone": (lose_index, [(ERROR, "index-unreadable")]),
    "a version of a table is gone": (lose_version, [(ERROR, "table-unreadable")]),
    "an id twice": (repeat_id, [(ERROR, "duplicate-id")]),
    "a unique value twice": (repeat_value, [(ERROR, "duplicate-value")]),
    "an edge to nowhere": (dangle, [(ERROR, "dangling-edge")]),
    "a native branch of the dead": (age_leftover, [(WARNING, "branch-left-over")]),
    "a native branch of a table": (age_leftover_of_table, [(WARNING, "branch-left-over")]),
    "a native branch in the making": (
        lambda repo: fork(repo, "__manifest", f"new.{ULID}"),
        [(INFO, "branch-left-over")],
    ),
    "a torn version": (tear_version, [(INFO, "torn-version")]),
}
