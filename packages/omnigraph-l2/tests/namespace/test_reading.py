"""What other programs read through the namespace: what was published, where they look."""

from __future__ import annotations

import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance_namespace
import pytest
from clients import leave_unpublished, opened, people_of
from lance_namespace import (
    CountTableRowsRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DescribeTableVersionRequest,
    InvalidInputError,
    ListNamespacesRequest,
    ListTablesRequest,
    ListTableVersionsRequest,
    NamespaceExistsRequest,
    NamespaceNotFoundError,
    TableBranchNotFoundError,
    TableExistsRequest,
    TableNotFoundError,
    TableVersionNotFoundError,
)
from small_graph import COMPANY, PERSON, SCHEMA, append

from omnigraph_l2 import Repository
from omnigraph_l2.namespace import GraphNamespace


def test_tables_are_found_by_name(local: Repository, near: GraphNamespace) -> None:
    """Branches, tags and tables are listed, page by page; what is named exists."""
    local.branches.create("dev/x")
    local.tags.create("v1")
    folders = [[], ["branches"], ["tags"], ["commits"], ["branches", "main"]]
    listed = [near.list_namespaces(ListNamespacesRequest(id=each)) for each in folders]
    assert [each.namespaces for each in listed] == [
        ["branches", "commits", "tags"], ["dev/x", "main"], ["v1"], [], [],
    ]  # fmt: skip
    first = near.list_tables(ListTablesRequest(id=["tags", "v1"], limit=2))
    rest = near.list_tables(ListTablesRequest(id=["tags", "v1"], page_token=first.page_token))
    assert [first.tables, rest.tables] == [["edge:Knows", COMPANY], [PERSON]]
    assert rest.page_token is None
    assert near.list_tables(ListTablesRequest(id=["tags"])).tables == []
    near.namespace_exists(NamespaceExistsRequest(id=["branches", "dev/x"]))
    near.table_exists(TableExistsRequest(id=["branches", "dev/x", PERSON]))
    head = local.log()[0].graph_commit_id
    shown = near.describe_namespace(DescribeNamespaceRequest(id=["tags", "v1"]))
    assert shown.properties == {"branch": "main", "commit": head}


def test_what_was_not_published_is_never_read(repo: Repository, namespace: GraphNamespace) -> None:
    """Neither at the head, nor by number, nor among the versions; on main and on a branch."""
    repo.branches.create("dev")
    append(repo, "dan", branch="dev")
    for branch, seen in (("main", "ann bob"), ("dev", "ann bob dan")):
        unseen = leave_unpublished(repo, branch)
        where = ["branches", branch]
        assert people_of(opened(namespace, *where)) == seen
        with pytest.raises(ValueError, match="no published version"):
            opened(namespace, *where, version=unseen)
        listed = namespace.list_table_versions(ListTableVersionsRequest(id=[*where, PERSON]))
        assert unseen not in [each.version for each in listed.versions]
        asked = DescribeTableVersionRequest(id=[*where, PERSON], version=unseen)
        with pytest.raises(TableVersionNotFoundError):
            namespace.describe_table_version(asked)


def test_a_writer_at_work_is_not_seen(repo: Repository, namespace: GraphNamespace) -> None:
    """The version that it has committed comes into sight with its publish, and not before."""
    held = opened(namespace)
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": "cat"}])
        assert tx.read(PERSON).num_rows == 3
        assert people_of(opened(namespace)) == "ann bob"
        held.checkout_latest()
        assert people_of(held) == "ann bob"
    assert people_of(opened(namespace)) == "ann bob cat"
    held.checkout_latest()
    assert people_of(held) == "ann bob cat"


def test_a_branch_is_that_branch(local: Repository, near: GraphNamespace) -> None:
    """Where it has a lineage of its own, and where it still shows an older version of main's."""
    local.branches.create("early")
    append(local, "cat")
    local.branches.create("dev")
    append(local, "dan", branch="dev")
    local.branches.create("child", source="dev")
    append(local, "eve", branch="dev")
    shown = {
        name: people_of(opened(near, "branches", name))
        for name in ("main", "early", "dev", "child")
    }
    assert shown == {
        "main": "ann bob cat", "early": "ann bob", "dev": "ann bob cat dan eve",
        "child": "ann bob cat dan",
    }  # fmt: skip


def test_a_native_branch_can_be_checked_out(local: Repository, near: GraphNamespace) -> None:
    """As LanceDB does: by the native name that describing the table tells; no other is known."""
    local.branches.create("dev")
    append(local, "dan", branch="dev")
    local.branches.create("child", source="dev")
    append(local, "eve", branch="dev")
    leave_unpublished(local, "dev")
    told = near.describe_table(DescribeTableRequest(id=["branches", "dev", PERSON]))
    assert told.properties is not None
    native = told.properties["native_branch"]
    on_branch = opened(near).checkout_version((native, None))
    assert people_of(on_branch) == "ann bob dan eve"
    with pytest.raises(TableBranchNotFoundError):
        near.list_table_versions(ListTableVersionsRequest(id=[PERSON], branch="dev"))


def test_older_versions_are_those_that_were_published(
    local: Repository, near: GraphNamespace
) -> None:
    """Each opens by number, newest first, page by page; a client that is behind reads on."""
    behind = opened(near)
    leave_unpublished(local)
    append(local, "cat")
    append(local, "dan")
    assert people_of(behind) == "ann bob"
    assert people_of(opened(near, version=behind.version)) == "ann bob"
    whole = near.list_table_versions(ListTableVersionsRequest(id=[PERSON])).versions
    numbers = [each.version for each in whole]
    assert numbers == sorted(numbers, reverse=True)
    assert [people_of(opened(near, version=number)) for number in numbers] == [
        "ann bob cat dan", "ann bob cat", "ann bob", "",
    ]  # fmt: skip
    paged: list[int] = []
    token = None
    while token is not None or not paged:
        asked = ListTableVersionsRequest(id=[PERSON], limit=3, page_token=token)
        page = near.list_table_versions(asked)
        paged += [each.version for each in page.versions]
        token = page.page_token
    assert paged == numbers


def test_tags_and_commits_never_move(local: Repository, near: GraphNamespace) -> None:
    """They show one version each, the same for ever, and all tables as of one publish."""
    commit = local.log()[0].graph_commit_id
    local.tags.create("v1")
    before = opened(near).version
    append(local, "cat")
    for where in (["tags", "v1"], ["commits", commit]):
        assert people_of(opened(near, *where)) == "ann bob"
        listed = near.list_table_versions(ListTableVersionsRequest(id=[*where, PERSON]))
        assert [each.version for each in listed.versions] == [before]


def test_rows_are_counted(local: Repository, near: GraphNamespace) -> None:
    """All of them, or those that a filter matches; what is not published does not count."""
    leave_unpublished(local)
    assert near.count_table_rows(CountTableRowsRequest(id=[PERSON])).count == 2
    asked = CountTableRowsRequest(id=[PERSON], predicate="id = 'ann'")
    assert near.count_table_rows(asked).count == 1
    with pytest.raises(InvalidInputError, match="invalid_filter"):
        near.count_table_rows(CountTableRowsRequest(id=[PERSON], predicate="nope = 1"))


def test_many_threads_open_at_once(local: Repository, near: GraphNamespace) -> None:
    """Lance asks from inside itself, on threads of its own; nobody waits for ever."""
    local.branches.create("dev")
    append(local, "dan", branch="dev")
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(
            lambda number: people_of(opened(near, *(("branches", "dev") * (number % 2)))),
            range(32),
        )
        assert set(found) == {"ann bob", "ann bob dan"}


def test_a_namespace_goes_to_other_processes(local: Repository, near: GraphNamespace) -> None:
    """Pickled it opens the same repository; it says which it is."""
    again = pickle.loads(pickle.dumps(near))
    assert people_of(opened(again)) == "ann bob"
    assert again.namespace_id() == near.namespace_id() == repr(near)[1:-1]
    again.close()


def test_a_place_with_an_odd_name_and_a_copy_of_it(tmp_path: Path) -> None:
    """Letters that mean something in a URI, and main of a repository that was moved, are read."""
    location, copy = tmp_path / "ä b#c%20d", tmp_path / "copy"
    with Repository.init(location, SCHEMA, durability="none") as repo:
        append(repo, "ann")
        shutil.copytree(location, copy)
        append(repo, "later")
        repo.branches.create("dev")
        append(repo, "dan", branch="dev")
    for root, main in ((location, "ann later"), (copy, "ann")):
        assert people_of(opened(GraphNamespace(str(root)))) == main
    dev = opened(GraphNamespace(str(location)), "branches", "dev")
    assert people_of(dev) == "ann dan later"


@pytest.mark.parametrize(
    ("table_id", "error"),
    [
        (None, InvalidInputError),
        ([], InvalidInputError),
        (["branches", PERSON], InvalidInputError),
        (["node:Nobody"], TableNotFoundError),
        (["branches", "nobody", PERSON], NamespaceNotFoundError),
        (["tags", "nobody", PERSON], NamespaceNotFoundError),
        (["commits", "nobody", PERSON], NamespaceNotFoundError),
        (["dev", PERSON], NamespaceNotFoundError),
        (["branches", "a", "b", PERSON], NamespaceNotFoundError),
    ],
)
def test_what_is_not_there_is_told_as_the_contract_says(
    local: Repository, table_id: list[str] | None, error: type[Exception]
) -> None:
    """Whatever is asked; our own error is the cause."""
    namespace = GraphNamespace(local.uri)
    with pytest.raises(error):
        namespace.describe_table(DescribeTableRequest(id=table_id))
    with pytest.raises(error):
        namespace.list_table_versions(ListTableVersionsRequest(id=table_id))


def test_a_branch_or_a_tag_of_one_table_is_refused(local: Repository) -> None:
    """They are of the whole graph: the answer says how such a table is named."""
    namespace = GraphNamespace(local.uri)
    for asked in (
        DescribeTableRequest(id=[PERSON], branch="main"),
        DescribeTableRequest(id=[PERSON], tag="v1"),
    ):
        with pytest.raises(InvalidInputError, match=r'\["branches", name, key\]'):
            namespace.describe_table(asked)


def test_a_namespace_that_cannot_be_opened(local: Repository, tmp_path: Path) -> None:
    """A property that is not known, and a location without a repository, are named."""
    with pytest.raises(InvalidInputError, match="'branch'"):
        GraphNamespace(local.uri, branch="dev")
    with pytest.raises(NamespaceNotFoundError, match="no repository"):
        GraphNamespace(str(tmp_path / "nothing"))
    kind = "omnigraph_l2.namespace.GraphNamespace"
    with pytest.raises(ValueError, match="no repository"):
        lance_namespace.connect(kind, {"uri": str(tmp_path / "nothing")})


def test_requests_come_in_any_form(local: Repository) -> None:
    """Lance itself hands plain mappings; what is none is told."""
    namespace = GraphNamespace(local.uri)
    listed = namespace.list_table_versions({"id": [PERSON], "limit": 1, "descending": True})  # type: ignore[arg-type]
    assert [each.version for each in listed.versions] == [opened(namespace).version]
    with pytest.raises(InvalidInputError, match="ListTablesRequest"):
        namespace.list_tables(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="limit"):
        namespace.list_tables(ListTablesRequest(limit=0))
    with pytest.raises(InvalidInputError, match="page token"):
        namespace.list_table_versions(ListTableVersionsRequest(id=[PERSON], page_token="x"))
