"""A repository as a Lance namespace, so that LanceDB and others find its tables by name.

Always: a client that lets the namespace manage versions, as it is told to, sees published versions
only, of the branch that it named, and a commit of its own is refused. What a client that ignores
this can see, docs/interop.md says. What is written through the namespace is one publish a request.
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

from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._namespace import (
    REFUSED,
    Lineage,
    apart,
    as_model,
    deleting,
    inserting,
    lineage_of,
    listed_namespaces,
    merging,
    named_moment,
    named_table,
    page,
    published_versions,
    refuse,
    refuse_moment,
)
from omnigraph_l2._repository import Repository
from omnigraph_l2._snapshots import place_of
from omnigraph_l2._transactions.transaction import Transaction

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
        self._repo = apart(lambda: Repository.open(uri, options or None, actor, durability))

    def namespace_id(self) -> str:
        """Tell which repository it is."""
        return f"{type(self).__name__} {{ uri: {self._repo.uri!r} }}"

    def close(self) -> None:
        """Close the repository."""
        self._repo.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (type(self), self._properties)

    def __repr__(self) -> str:
        return f"<{self.namespace_id()}>"

    # Namespaces.

    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """Name the namespaces below one."""
        asked = as_model(ListNamespacesRequest, request)
        names = apart(lambda: listed_namespaces(self._repo, asked.id))
        listed, token = page(names, asked.page_token, asked.limit)
        return ListNamespacesResponse(namespaces=listed, page_token=token)

    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        """Raise ``NamespaceNotFoundError`` where there is no such namespace."""
        asked = as_model(NamespaceExistsRequest, request)
        apart(lambda: listed_namespaces(self._repo, asked.id))
        return NamespaceExistsResponse()

    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """Tell which commit a namespace shows."""
        asked = as_model(DescribeNamespaceRequest, request)
        moment = named_moment(asked.id)
        if moment is None:
            return DescribeNamespaceResponse(properties={})
        snapshot = apart(lambda: moment.snapshot(self._repo))
        return DescribeNamespaceResponse(properties=_told_of(snapshot.branch, snapshot.commit))

    # Tables.

    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """Name the tables of a namespace, not those of the namespaces below it."""
        asked = as_model(ListTablesRequest, request)
        moment = named_moment(asked.id)
        names = [] if moment is None else apart(lambda: list(moment.snapshot(self._repo).tables))
        listed, token = page(names, asked.page_token, asked.limit)
        return ListTablesResponse(tables=listed, page_token=token)

    def table_exists(self, request: TableExistsRequest) -> TableExistsResponse:
        """Raise ``TableNotFoundError`` where there is no such table."""
        asked = as_model(TableExistsRequest, request)
        self._versioned(asked.id, asked.version)
        return TableExistsResponse()

    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Tell where a table is, and that its versions are to be asked for here."""
        asked = as_model(DescribeTableRequest, request)
        if asked.branch is not None or asked.tag is not None:
            msg = (
                "A branch or a tag of a graph is a namespace, for all tables at once: "
                'name the table ["branches", name, key] or ["tags", name, key].'
            )
            raise InvalidInputError(msg)
        lineage, version = self._versioned(asked.id, asked.version)
        snapshot, key = lineage.snapshot, lineage.table_key
        options = place_of(snapshot, key).lance_options
        return DescribeTableResponse(
            table=key,
            namespace=list(asked.id or ())[:-1],
            version=version,
            location=lineage.location,
            table_uri=lineage.location if asked.with_table_uri else None,
            storage_options=options or None,
            managed_versioning=True,
            properties={
                **_told_of(snapshot.branch, snapshot.commit),
                "row_count": str(snapshot.entry(key).row_count),
                **({} if lineage.native is None else {"native_branch": lineage.native}),
            },
        )

    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """Name the versions of a table that were published, the newest first."""
        asked = as_model(ListTableVersionsRequest, request)
        below = _number(asked.page_token)

        def listed() -> tuple[list[TableVersion], str | None]:
            found = self._published(self._lineage(asked.id, asked.branch), below)
            versions = list(islice(found, asked.limit))
            cut = asked.limit is not None and next(found, None) is not None
            return versions, str(versions[-1].version) if cut else None

        versions, token = apart(listed)
        return ListTableVersionsResponse(versions=versions, page_token=token)

    def describe_table_version(
        self, request: DescribeTableVersionRequest
    ) -> DescribeTableVersionResponse:
        """Tell where a version is, if it was published; without a number, the newest."""
        asked = as_model(DescribeTableVersionRequest, request)

        def found() -> TableVersion | None:
            lineage = self._lineage(asked.id, asked.branch)
            below = None if asked.version is None else asked.version + 1
            version = next(self._published(lineage, below), None)
            fits = version is not None and asked.version in (None, version.version)
            return version if fits else None

        version = apart(found)
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

        return CountTableRowsResponse(count=apart(count))

    # Writing.

    def insert_into_table(
        self, request: InsertIntoTableRequest, request_data: bytes
    ) -> InsertIntoTableResponse:
        """Add rows, or replace all, as one publish."""
        asked = as_model(InsertIntoTableRequest, request)
        key = named_table(asked.id)[1]
        done = self._write(asked.id, asked.branch, inserting(key, asked, request_data))
        return InsertIntoTableResponse(transaction_id=done)

    def merge_insert_into_table(
        self, request: MergeInsertIntoTableRequest, request_data: bytes
    ) -> MergeInsertIntoTableResponse:
        """Replace rows by id and add the others, as one publish."""
        asked = as_model(MergeInsertIntoTableRequest, request)
        key = named_table(asked.id)[1]
        done = self._write(asked.id, asked.branch, merging(key, asked, request_data))
        return MergeInsertIntoTableResponse(transaction_id=done)

    def delete_from_table(self, request: DeleteFromTableRequest) -> DeleteFromTableResponse:
        """Delete the rows that a filter matches, as one publish."""
        asked = as_model(DeleteFromTableRequest, request)
        key = named_table(asked.id)[1]
        done = self._write(asked.id, asked.branch, deleting(key, asked))
        return DeleteFromTableResponse(transaction_id=done)

    def _write(
        self, table_id: list[str] | None, native: str | None, change: Callable[[Transaction], Any]
    ) -> str | None:
        moment, _ = named_table(table_id)
        refuse_moment(moment, native)

        def once(tx: Transaction) -> Transaction:
            change(tx)
            return tx

        def published() -> GraphCommit | None:
            return self._repo.retry(once, moment.name).commit

        commit = apart(published)
        return None if commit is None else commit.graph_commit_id

    # Finding.

    def _lineage(self, table_id: list[str] | None, native: str | None = None) -> Lineage:
        moment, key = named_table(table_id)
        return lineage_of(self._repo, moment, key, native)

    def _versioned(self, table_id: list[str] | None, wanted: int | None) -> tuple[Lineage, int]:
        def find() -> tuple[Lineage, int | None]:
            lineage = self._lineage(table_id)
            below = None if wanted is None else wanted + 1
            found = next(self._published(lineage, below), None)
            return lineage, None if found is None else found.version

        lineage, version = apart(find)
        if version is None or wanted not in (None, version):
            raise _not_published(table_id, wanted)
        return lineage, version

    def _published(self, lineage: Lineage, below: int | None) -> Iterator[TableVersion]:
        for version, path in published_versions(self._repo, lineage):
            if below is None or version < below:
                yield TableVersion(version=version, manifest_path=path)


def _opened(kind: type[GraphNamespace], properties: dict[str, Any]) -> GraphNamespace:
    return kind(**properties)


def _told_of(branch: str, commit: GraphCommit | None) -> dict[str, str]:
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
