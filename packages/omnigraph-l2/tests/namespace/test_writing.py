"""What other programs write through the namespace: a publish of ours, or nothing, told as such."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import lance
import lance_namespace
import pyarrow as pa
import pytest
from clients import opened, people_of, rows
from lance_namespace import (
    ConcurrentModificationError,
    DeleteFromTableRequest,
    InsertIntoTableRequest,
    InvalidInputError,
    LanceNamespace,
    MergeInsertIntoTableRequest,
    TableSchemaValidationError,
    UnsupportedOperationError,
)
from small_graph import PERSON, append, people

from omnigraph_l2 import Repository
from omnigraph_l2.errors import DuplicateIds, ExpectedVersionMismatch
from omnigraph_l2.interop.namespace_writes import REFUSED
from omnigraph_l2.namespace import GraphNamespace

_NEITHER_READ_NOR_WRITTEN = {
    "analyze_table_query_plan",
    "describe_table_index_stats",
    "describe_transaction",
    "explain_table_query_plan",
    "get_table_stats",
    "get_table_tag_version",
    "list_all_tables",
    "list_table_branches",
    "list_table_indices",
    "list_table_tags",
    "query_table",
}
"""What the contract allows to leave out: a client does it by itself, or does without."""


def _merge(dataset: Any) -> Any:
    merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    return merge.execute(rows("ann", "eve"))


_COMMITS: dict[str, Callable[[Any], Any]] = {
    "insert": lambda dataset: dataset.insert(rows("eve")),
    "delete": lambda dataset: dataset.delete("true"),
    "update": lambda dataset: dataset.update({"age": "7"}),
    "merge": _merge,
    "restore": lambda dataset: dataset.restore(),
    "index": lambda dataset: dataset.create_scalar_index("age", "BTREE"),
    "drop a column": lambda dataset: dataset.drop_columns(["age"]),
    "compact": lambda dataset: dataset.optimize.compact_files(),
}


@pytest.mark.parametrize(
    ("how", "where"), [*((how, []) for how in _COMMITS), ("insert", ["branches", "dev"])]
)
def test_a_commit_that_goes_round_the_publish_fails(
    local: Repository, near: GraphNamespace, how: str, where: list[str]
) -> None:
    """Whatever a client does with its handle raises; nobody sees it; the next writer goes on."""
    local.branches.create("dev")
    append(local, "dan", branch="dev")
    append(local, "cat")
    branch = where[-1] if where else "main"
    seen = people(local, branch)
    with pytest.raises(Exception, match=r"(?i)commit result|no published version"):
        _COMMITS[how](opened(near, *where))
    assert people(local, branch) == people_of(opened(near, *where)) == seen
    append(local, "zoe", branch=branch)
    assert people(local, branch) == people_of(opened(near, *where)) == f"{seen} zoe"
    assert [each for each in local.verify().findings if each.severity.value != "info"] == []


@pytest.mark.parametrize("mode", ["create", "append", "overwrite"])
def test_writing_a_dataset_by_name_fails(local: Repository, mode: str) -> None:
    """Whichever way: it neither makes a table nor changes one."""
    namespace = GraphNamespace(local.uri)
    with pytest.raises((UnsupportedOperationError, OSError), match=r"refused|Commit result"):
        lance.write_dataset(rows("eve"), mode=mode, namespace_client=namespace, table_id=[PERSON])
    assert people(local) == "ann bob"


def test_every_operation_of_the_contract_is_done_or_refused(local: Repository) -> None:
    """One that a new version of the contract brings is looked at before it gets to users."""
    namespace = GraphNamespace(local.uri)
    operations = {
        name
        for name, _ in inspect.getmembers(LanceNamespace, inspect.isfunction)
        if not name.startswith("_")
    }
    done = {name for name in operations if name in vars(GraphNamespace)} - set(REFUSED)
    assert done | set(REFUSED) | _NEITHER_READ_NOR_WRITTEN == operations
    for name in REFUSED:
        with pytest.raises(UnsupportedOperationError, match="only a publish") as refused:
            getattr(namespace, name)({"id": [PERSON]})
        assert name in str(refused.value)
    for name in _NEITHER_READ_NOR_WRITTEN:
        with pytest.raises(UnsupportedOperationError):
            getattr(namespace, name)({"id": [PERSON]})


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def test_rows_that_go_through_the_namespace_are_published(
    repo: Repository, namespace: GraphNamespace
) -> None:
    """Each request is one commit of the client, on the branch that it names."""
    repo.branches.create("dev")
    dev = ["branches", "dev", PERSON]
    insert, merge = InsertIntoTableRequest, MergeInsertIntoTableRequest
    upsert = {"on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True}
    done = [
        namespace.insert_into_table(insert(id=dev), _stream(rows("eve"))).transaction_id,
        namespace.merge_insert_into_table(
            merge(id=dev, **upsert), _stream(rows("ann", "fay"))
        ).transaction_id,
        namespace.delete_from_table(
            DeleteFromTableRequest(id=dev, predicate="id = 'bob'")
        ).transaction_id,
    ]
    assert people(repo, "dev") == "ann eve fay"
    commits = repo.log("dev", limit=3)
    assert [each.graph_commit_id for each in commits] == done[::-1]
    assert {each.actor_id for each in commits} == {"client"}
    namespace.insert_into_table(insert(id=dev, mode="Overwrite"), _stream(rows("gus")))
    assert people(repo, "dev") == "gus"
    assert people(repo) == "ann bob"
    nothing = DeleteFromTableRequest(id=dev, predicate="id = 'nobody'")
    assert namespace.delete_from_table(nothing).transaction_id is None


def test_what_cannot_be_published_is_told_as_the_contract_says(local: Repository) -> None:
    """With our own error as the cause; nothing of it is there."""
    namespace = GraphNamespace(local.uri)
    insert = InsertIntoTableRequest(id=[PERSON])
    strange = pa.table({"id": ["x"], "wings": [2]})
    with pytest.raises(TableSchemaValidationError, match="wings"):
        namespace.insert_into_table(insert, _stream(strange))
    with pytest.raises(InvalidInputError) as twice:
        namespace.insert_into_table(insert, _stream(rows("ann")))
    assert isinstance(twice.value.__cause__, DuplicateIds)
    with pytest.raises(InvalidInputError, match="IPC"):
        namespace.insert_into_table(insert, b"not arrow")
    with pytest.raises(InvalidInputError, match="'append' or 'overwrite'"):
        namespace.insert_into_table(InsertIntoTableRequest(id=[PERSON], mode="x"), _stream(rows()))
    with pytest.raises(InvalidInputError, match="upsert by id"):
        namespace.merge_insert_into_table(
            MergeInsertIntoTableRequest(id=[PERSON], on=["age"]), _stream(rows("x"))
        )
    with pytest.raises(InvalidInputError, match="namespace"):
        namespace.insert_into_table(
            InsertIntoTableRequest(id=[PERSON], branch="dev"), _stream(rows("x"))
        )
    assert people(local) == "ann bob"


def test_a_moment_that_stands_still_is_not_written_to(local: Repository) -> None:
    """Neither a tag nor a commit, whether it is there or not."""
    namespace = GraphNamespace(local.uri)
    local.tags.create("v1")
    for where in (["tags", "v1"], ["commits", local.log()[0].graph_commit_id]):
        with pytest.raises(UnsupportedOperationError, match="never changes"):
            namespace.insert_into_table(
                InsertIntoTableRequest(id=[*where, PERSON]), _stream(rows("x"))
            )


def test_errors_of_ours_become_those_of_the_contract() -> None:
    """A lost race is one to try again; what nobody knows is not."""
    from omnigraph_l2.errors import CommitOutcomeUnknown  # noqa: PLC0415
    from omnigraph_l2.interop.namespace_errors import run_in_thread  # noqa: PLC0415

    def fail(error: Exception) -> None:
        raise error

    with pytest.raises(ConcurrentModificationError):
        run_in_thread(lambda: fail(ExpectedVersionMismatch(table_key=PERSON, expected=1, actual=2)))
    unknown = CommitOutcomeUnknown(location="p", commit_id="01", detail="x")
    with pytest.raises(lance_namespace.InternalError, match="01"):
        run_in_thread(lambda: fail(unknown))
