"""A repository as a Lance namespace, so that LanceDB and others find its tables by name.

Invariant: a client that lets the namespace manage versions sees only published versions of the
branch that it named, and its own commits are refused. docs/interop.md describes what a client can
see that does not. Each request that writes is one publish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NoReturn

from lance_namespace import (
    CountTableRowsRequest,
    CountTableRowsResponse,
    DeleteFromTableRequest,
    DeleteFromTableResponse,
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    DescribeTableRequest,
    DescribeTableResponse,
    DescribeTableVersionRequest,
    DescribeTableVersionResponse,
    InsertIntoTableRequest,
    InsertIntoTableResponse,
    InvalidInputError,
    LanceNamespace,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    ListTableVersionsRequest,
    ListTableVersionsResponse,
    MergeInsertIntoTableRequest,
    MergeInsertIntoTableResponse,
    NamespaceExistsRequest,
    NamespaceExistsResponse,
    TableExistsRequest,
    TableExistsResponse,
    TableVersion,
    TableVersionNotFoundError,
)

from omnigraph_l2._api.repository import Repository
from omnigraph_l2._branch.snapshot import storage_of
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._transaction.transaction import Transaction
from omnigraph_l2.interop.namespace_errors import run_in_thread
from omnigraph_l2.interop.namespace_requests import as_model, page
from omnigraph_l2.interop.namespace_revisions import (
    child_namespaces,
    resolve_table,
    revision_of_namespace,
)
from omnigraph_l2.interop.namespace_versions import Lineage, lineage_of, published_versions
from omnigraph_l2.interop.namespace_writes import (
    REFUSED,
    check_writable_revision,
    plan_delete,
    plan_insert,
    plan_merge,
    refuse,
)

__all__ = ["GraphNamespace"]

_OPTION = "storage."


class GraphNamespace(LanceNamespace):
    """The tables of a repository, by name: ``["node:Person"]`` is one of main, as it is now.

    ``["branches", "dev", "node:Person"]`` is one of a branch; ``tags`` and ``commits`` likewise.
    Storage options have the prefix ``storage.``; ``actor`` is who writes.
    """

    def __init__(
        self,
        uri: str,
        *,
        actor: str | None = None,
        durability: str | None = None,
        **properties: str,
    ) -> None:
        strange = [name for name in properties if not name.startswith(_OPTION)]
        if strange:
            msg = (
                "A repository as a namespace has the properties uri, actor, durability and "
                f"storage.<option>, found {', '.join(map(repr, strange))}."
            )
            raise InvalidInputError(msg)
        options = {name[len(_OPTION) :]: value for name, value in properties.items()}
        self._properties = {"uri": uri, "actor": actor, "durability": durability, **properties}
        self._repo = run_in_thread(lambda: Repository.open(uri, options or None, actor, durability))

    def namespace_id(self) -> str:
        """Return which repository it is."""
        return f"{type(self).__name__} {{ uri: {self._repo.uri!r} }}"

    def close(self) -> None:
        """Close the repository."""
        self._repo.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (type(self), self._properties)

    def __repr__(self) -> str:
        return f"<{self.namespace_id()}>"

    # Namespaces.

    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """Name the namespaces below one."""
        asked = as_model(ListNamespacesRequest, request)
        names = run_in_thread(lambda: child_namespaces(self._repo, asked.id))
        listed, token = page(names, asked.page_token, asked.limit)
        return ListNamespacesResponse(namespaces=listed, page_token=token)

    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        """Raise ``NamespaceNotFoundError`` where there is no such namespace."""
        asked = as_model(NamespaceExistsRequest, request)
        run_in_thread(lambda: child_namespaces(self._repo, asked.id))
        return NamespaceExistsResponse()

    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """Return which commit a namespace shows."""
        asked = as_model(DescribeNamespaceRequest, request)
        revision = revision_of_namespace(asked.id)
        if revision is None:
            return DescribeNamespaceResponse(properties={})
        snapshot = run_in_thread(lambda: revision.snapshot(self._repo))
        return DescribeNamespaceResponse(
            properties=_commit_properties(snapshot.branch, snapshot.commit)
        )

    # Tables.

    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """Name the tables of a namespace, not those of the namespaces below it."""
        asked = as_model(ListTablesRequest, request)
        revision = revision_of_namespace(asked.id)
        names = (
            []
            if revision is None
            else run_in_thread(lambda: list(revision.snapshot(self._repo).tables))
        )
        listed, token = page(names, asked.page_token, asked.limit)
        return ListTablesResponse(tables=listed, page_token=token)

    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Raise ``TableNotFoundError`` where there is no such table."""
        asked = as_model(TableExistsRequest, request)
        self._at_version(asked.id, asked.version)
        return TableExistsResponse()

    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Return where a table is, and that its versions are to be asked for here."""
        asked = as_model(DescribeTableRequest, request)
        if asked.branch is not None or asked.tag is not None:
            msg = (
                "A branch or a tag of a graph is a namespace, for all tables at once: "
                'name the table ["branches", name, key] or ["tags", name, key].'
            )
            raise InvalidInputError(msg)
        lineage, version = self._at_version(asked.id, asked.version)
        snapshot, key = lineage.snapshot, lineage.table_key
        options = storage_of(snapshot, key).lance_options
        return DescribeTableResponse(
            table=key,
            namespace=list(asked.id or ())[:-1],
            version=version,
            location=lineage.location,
            table_uri=lineage.location if asked.with_table_uri else None,
            storage_options=options or None,
            managed_versioning=True,
            properties={
                **_commit_properties(snapshot.branch, snapshot.commit),
                "row_count": str(snapshot.entry(key).row_count),
                **({} if lineage.native is None else {"native_branch": lineage.native}),
            },
        )

    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """Name the versions of a table that were published, the newest first."""
        asked = as_model(ListTableVersionsRequest, request)
        below = _number(asked.page_token)

        def listed() -> tuple[list[TableVersion], str | None]:
            found = self._list_published(self._lineage(asked.id, asked.branch), below)
            versions = list(islice(found, asked.limit))
            cut = asked.limit is not None and next(found, None) is not None
            return versions, str(versions[-1].version) if cut else None

        versions, token = run_in_thread(listed)
        return ListTableVersionsResponse(versions=versions, page_token=token)

    def describe_table_version(
        self, request: DescribeTableVersionRequest
    ) -> DescribeTableVersionResponse:
        """Return where a version is, if it was published; without a number, the newest."""
        asked = as_model(DescribeTableVersionRequest, request)

        def found() -> TableVersion | None:
            lineage = self._lineage(asked.id, asked.branch)
            below = None if asked.version is None else asked.version + 1
            version = next(self._list_published(lineage, below), None)
            fits = version is not None and asked.version in (None, version.version)
            return version if fits else None

        version = run_in_thread(found)
        if version is None:
            raise _not_published(asked.id, asked.version)
        return DescribeTableVersionResponse(version=version)

    def count_table_rows(self, request: CountTableRowsRequest) -> CountTableRowsResponse:
        """Count the rows, or those that a filter matches."""
        asked = as_model(CountTableRowsRequest, request)

        def count() -> int:
            lineage = self._lineage(asked.id, asked.branch)
            entry = lineage.snapshot.entry(lineage.table_key)
            if asked.version not in (None, entry.table_version):
                raise _not_published(asked.id, asked.version)
            if asked.predicate is None:
                return entry.row_count
            rows = lineage.snapshot.scan(lineage.table_key, [], asked.predicate)
            return sum(batch.num_rows for batch in rows)

        return CountTableRowsResponse(count=run_in_thread(count))

    # Writing.

    def insert_into_table(
        self, request: InsertIntoTableRequest, request_data: bytes
    ) -> InsertIntoTableResponse:
        """Add rows, or replace all, as one publish."""
        asked = as_model(InsertIntoTableRequest, request)
        key = resolve_table(asked.id)[1]
        done = self._write(asked.id, asked.branch, plan_insert(key, asked, request_data))
        return InsertIntoTableResponse(transaction_id=done)

    def merge_insert_into_table(
        self, request: MergeInsertIntoTableRequest, request_data: bytes
    ) -> MergeInsertIntoTableResponse:
        """Replace rows by id and add the others, as one publish."""
        asked = as_model(MergeInsertIntoTableRequest, request)
        key = resolve_table(asked.id)[1]
        done = self._write(asked.id, asked.branch, plan_merge(key, asked, request_data))
        return MergeInsertIntoTableResponse(transaction_id=done)

    def delete_from_table(self, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
        """Delete the rows that a filter matches, as one publish."""
        asked = as_model(DeleteFromTableRequest, request)
        key = resolve_table(asked.id)[1]
        done = self._write(asked.id, asked.branch, plan_delete(key, asked))
        return DeleteFromTableResponse(transaction_id=done)

    def _write(
        self, table_id: list[str] | None, native: str | None, change: Callable[[Transaction], Any]
    ) -> str | None:
        revision, _ = resolve_table(table_id)
        check_writable_revision(revision, native)

        def once(tx: Transaction) -> Transaction:
            change(tx)
            return tx

        def published() -> GraphCommit | None:
            return self._repo.retry(once, revision.name).commit

        commit = run_in_thread(published)
        return None if commit is None else commit.graph_commit_id

    # Finding.

    def _lineage(self, table_id: list[str] | None, native: str | None = None) -> Lineage:
        revision, key = resolve_table(table_id)
        return lineage_of(self._repo, revision, key, native)

    def _at_version(self, table_id: list[str] | None, wanted: int | None) -> tuple[Lineage, int]:
        def find() -> tuple[Lineage, int | None]:
            lineage = self._lineage(table_id)
            below = None if wanted is None else wanted + 1
            found = next(self._list_published(lineage, below), None)
            return lineage, None if found is None else found.version

        lineage, version = run_in_thread(find)
        if version is None or wanted not in (None, version):
            raise _not_published(table_id, wanted)
        return lineage, version

    def _list_published(self, lineage: Lineage, below: int | None) -> Iterator[TableVersion]:
        for version, path in published_versions(self._repo, lineage):
            if below is None or version < below:
                yield TableVersion(version=version, manifest_path=path)


def _open(kind: type[GraphNamespace], properties: dict[str, Any]) -> GraphNamespace:
    return kind(**properties)


def _commit_properties(branch: str, commit: GraphCommit | None) -> dict[str, str]:
    return {"branch": branch, **({} if commit is None else {"commit": commit.graph_commit_id})}


def _number(token: str | None) -> int | None:
    if not token:
        return None
    if not token.isdecimal():
        msg = f"A page token is what the page before it gave, found {token!r}."
        raise InvalidInputError(msg)
    return int(token)


def _not_published(table_id: list[str] | None, version: int | None) -> TableVersionNotFoundError:
    return TableVersionNotFoundError(
        f"The table {table_id} has no published version {version} here. What a writer left or has "
        'not published yet is not shown. Older moments are namespaces: ["commits", id].'
    )


def _refusal(operation: str) -> Callable[..., NoReturn]:
    def refused(_self: GraphNamespace, *_request: Any) -> NoReturn:
        refuse(operation)

    refused.__name__ = operation
    refused.__doc__ = f"Refused: use {REFUSED[operation]}."
    return refused


for _operation in REFUSED:
    setattr(GraphNamespace, _operation, _refusal(_operation))
