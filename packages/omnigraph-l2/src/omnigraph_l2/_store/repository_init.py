"""Create a repository, or open one. Opening only reads.

The catalog is created first, with the schema and the first commit in its own metadata. So it
decides between two processes that create different repositories, and two that create the same one
write the same commit.

Invariant: nothing is a repository before its pointer ``main`` exists, and the conditional write of
that pointer decides between two processes that create the same one. Each step can be repeated after
a crash. A location that holds anything else is not changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

import pyarrow as pa

from omnigraph_l1 import Table, new_ulid, table_path
from omnigraph_l1.errors import (
    CommitConflict,
    CorruptDataset,
    DatasetExists,
    DatasetNotFound,
    L1Error,
    NotADataset,
)
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.manifest_rows import (
    MANIFEST_SCHEMA,
    TABLE,
    TABLE_VERSION,
    ManifestRow,
    from_micros,
    rows_to_arrow,
    to_micros,
    version_key,
    version_metadata,
)
from omnigraph_l2._model.argument_checks import check_text
from omnigraph_l2._model.graph_schema import EdgeType, GraphSchema, NodeType, refuse_unstorable
from omnigraph_l2._model.repository_layout import (
    COMMIT_ACTORS,
    COMMIT_NOTES,
    COMMITS,
    MANIFEST,
    RUN_ACTORS,
    RUNS,
)
from omnigraph_l2._store.branch_registry import MAIN, BranchPointers, Pointer
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.log_rows import (
    ACTORS_SCHEMA,
    COMMITS_SCHEMA,
    NOTES_SCHEMA,
    RUN_ACTORS_SCHEMA,
    RUNS_SCHEMA,
)
from omnigraph_l2._store.manifest_store import Loaded, ManifestStore
from omnigraph_l2._store.migrations import stamp_schema
from omnigraph_l2._store.repository_root import RepositoryRoot, find_schema_files
from omnigraph_l2.errors import (
    ForeignRepository,
    InvalidSchema,
    RepositoryExists,
    RepositoryNotFound,
)

__all__ = ["REGISTERED", "create", "open_catalog", "registration_metadata", "was_begun"]

REGISTERED = frozenset({"endpoints", "indexes", "unique"})
"""What ``registration_metadata`` says, where there is something to say."""

_CATALOG = declare("l2.init.catalog", "the catalog is made, and empty")
_TABLES = declare("l2.init.tables", "the datasets of the types are made")
_HISTORY = declare("l2.init.history", "the datasets of commits and runs are made")
_ROWS = declare("l2.init.rows", "the catalog names the tables")
_GENESIS = declare(
    "l2.init.genesis", "the first commit is in the log, the pointer is not there yet"
)
_DONE = declare("l2.init.done", "the pointer is there")

_HISTORIES = (
    (COMMITS, COMMITS_SCHEMA),
    (COMMIT_ACTORS, ACTORS_SCHEMA),
    (COMMIT_NOTES, NOTES_SCHEMA),
    (RUNS, RUNS_SCHEMA),
    (RUN_ACTORS, RUN_ACTORS_SCHEMA),
)
_FINGERPRINT_KEY = b"omnigraph:init_schema"
_GENESIS_KEY = b"omnigraph:init_genesis"
_CONFIG = {"table_version_management": "true"}
_ATTEMPTS = 10
_T = TypeVar("_T")
_WITH_FIRST_ROWS = frozenset({COMMITS, COMMIT_ACTORS})
_LEFT_BEFORE_THE_CATALOG = frozenset({MANIFEST, "_refs"})
_LEFT_IN_THE_CATALOG = frozenset({"_transactions", "_versions"})
"""What Lance writes of an empty dataset, in this order."""


def create(
    root: RepositoryRoot, schema: GraphSchema, *, actor: str | None, clock: Callable[[], datetime]
) -> None:
    """Create a repository, or finish one whose creation was interrupted."""
    if not isinstance(schema, GraphSchema):
        raise InvalidSchema(problems=(f"it should be a GraphSchema, found {schema!r}",))
    refuse_unstorable(schema)
    check_text("actor", actor)
    pointers = BranchPointers(root, clock)
    _refuse_taken(root, pointers, schema)
    files = find_schema_files(root)
    if files:
        raise ForeignRepository(location=root.location, files=files, datasets=())
    pointers.probe()
    catalog = init_manifest_repo(root, schema, actor, clock)
    failpoint(_CATALOG)
    tables = dict(root.at_once(lambda each: (each.table_key, _table(root, each)), schema.types))
    failpoint(_TABLES)
    for path, columns in _HISTORIES:
        _empty(root, path, columns)
    failpoint(_HISTORY)
    version = _again(lambda: _register(root, catalog, schema, tables))
    failpoint(_ROWS)
    genesis = _again(lambda: _genesis(root, catalog, version))
    failpoint(_GENESIS)
    now = clock()
    made = pointers.create(
        Pointer(
            name=MAIN,
            native_branch=None,
            parent_branch=None,
            parent_manifest_version=None,
            manifest_version=version,
            head_commit_id=genesis,
            created_at=now,
            updated_at=now,
        )
    )
    failpoint(_DONE)
    if not made:
        raise RepositoryExists(
            location=root.location, found="one that was created at the same time"
        )


def was_begun(catalog: Table) -> bool:
    """Return whether ``create`` made this catalog, so that a pointer completes it."""
    return _FINGERPRINT_KEY in (catalog.schema.metadata or {})


def registration_metadata(declared: NodeType | EdgeType) -> dict[str, object]:
    """Return what a type declares in addition to its columns."""
    said: dict[str, object] = {}
    if isinstance(declared, EdgeType):
        said["endpoints"] = {"src": declared.source, "dst": declared.target}
    if declared.unique:
        said["unique"] = list(declared.unique)
    if declared.indexes:
        said["indexes"] = dict(declared.indexes)
    return said


def _refuse_taken(root: RepositoryRoot, pointers: BranchPointers, schema: GraphSchema) -> None:
    if pointers.get(MAIN) is not None:
        raise RepositoryExists(location=root.location, found="a repository")
    try:
        catalog = root.open(MANIFEST)
    except (DatasetNotFound, NotADataset, CorruptDataset):
        foreign = [name for name in root.first_names() if name not in _LEFT_BEFORE_THE_CATALOG]
        foreign += [
            f"{MANIFEST}/{name}"
            for name in root.first_names(MANIFEST)
            if name not in _LEFT_IN_THE_CATALOG
        ]
        if foreign:
            found = f"other things: {', '.join(foreign)}"
            raise RepositoryExists(location=root.location, found=found) from None
    else:
        _refuse_other(root, catalog, schema)


def _refuse_other(root: RepositoryRoot, catalog: Table, schema: GraphSchema) -> None:
    if not was_begun(catalog):
        raise RepositoryExists(location=root.location, found="a repository")
    if _begun_with(catalog).get(_FINGERPRINT_KEY) != _fingerprint(schema):
        found = (
            "a creation with another schema that is not finished; finish it with that schema, or "
            "remove what it left"
        )
        raise RepositoryExists(location=root.location, found=found)


def _begun_with(catalog: Table) -> Mapping[bytes, bytes]:
    """Return the schema and commit with which a creation began.

    Lance lets two processes create the catalog at once, one over the other, and L1 restores the
    first a moment later. So the first version decides, not the one that is visible in between.
    """
    with suppress(L1Error):
        catalog = catalog.at(1)
    return catalog.schema.metadata or {}


def init_manifest_repo(
    root: RepositoryRoot, schema: GraphSchema, actor: str | None, clock: Callable[[], datetime]
) -> Table:
    """Create the manifest, or open the one that an earlier attempt or another process created."""
    genesis = {
        "graph_commit_id": new_ulid(),
        "actor_id": actor,
        "created_at": to_micros(clock()),
    }
    begun = MANIFEST_SCHEMA.with_metadata(
        {
            _FINGERPRINT_KEY: _fingerprint(schema),
            _GENESIS_KEY: json.dumps(genesis, ensure_ascii=False).encode(),
        }
    )
    try:
        catalog = root.create(MANIFEST, stamp_schema(begun))
    except (DatasetExists, CommitConflict):
        catalog = root.open(MANIFEST)
    catalog.check_version_store()
    _refuse_other(root, catalog, schema)
    return root.remember(MANIFEST, _again(lambda: _configure(catalog.refresh())))


def _configure(catalog: Table) -> Table:
    if _CONFIG.items() <= catalog.config.items():
        return catalog
    return catalog.configure(_CONFIG).table


def _again(write: Callable[[], _T]) -> _T:
    """Repeat a write that another process, which creates the same repository, may be doing now."""
    for _ in range(_ATTEMPTS):
        try:
            return write()
        except CommitConflict:
            continue
    return write()


def _table(root: RepositoryRoot, declared: NodeType | EdgeType) -> Table:
    return _empty(root, table_path(declared.table_key), declared.arrow_schema)


def _empty(root: RepositoryRoot, path: str, columns: pa.Schema) -> Table:
    """Create an empty dataset, or open the one that an earlier attempt created."""
    try:
        return root.create(path, columns)
    except (DatasetExists, CommitConflict):
        table = root.open(path)
        if not table.schema.equals(columns) or (table.count() and path not in _WITH_FIRST_ROWS):
            found = f"{path}, which is no empty table of this schema"
            raise RepositoryExists(location=root.location, found=found) from None
        return table


def _register(
    root: RepositoryRoot, catalog: Table, schema: GraphSchema, tables: dict[str, Table]
) -> int:
    """Write the first rows unless they exist: of two processes, the second is refused."""
    rows = [
        row
        for each in schema.types
        for row in _rows(each, tables[each.table_key], is_durable=root.is_durable)
    ]
    catalog = catalog.refresh()
    if not rows or catalog.count():
        return catalog.version
    merged = catalog.cas_merge(rows_to_arrow(rows), key="object_id", write_id=new_ulid())
    return merged.version


def _genesis(root: RepositoryRoot, catalog: Table, version: int) -> str:
    """Write the first commit, with which the catalog was created."""
    log = CommitLog(root)
    first = log.head(None)
    if first is None:
        planned = json.loads(_begun_with(catalog)[_GENESIS_KEY])
        first = GraphCommit(
            graph_commit_id=planned["graph_commit_id"],
            parent_commit_id=None,
            manifest_version=version,
            actor_id=planned["actor_id"],
            created_at=from_micros(planned["created_at"]),
        )
        log.write_genesis(first)
    return first.graph_commit_id


def _rows(declared: NodeType | EdgeType, table: Table, *, is_durable: bool) -> list[ManifestRow]:
    key = declared.table_key
    metadata = registration_metadata(declared)
    return [
        ManifestRow(
            object_id=key,
            object_type=TABLE,
            location=table_path(key),
            metadata=json.dumps(metadata, ensure_ascii=False) if metadata else None,
            table_key=key,
        ),
        ManifestRow(
            object_id=version_key(key, table.version),
            object_type=TABLE_VERSION,
            metadata=json.dumps(
                {**version_metadata(table.manifest_path, is_durable=is_durable), "publish": 0},
                ensure_ascii=False,
            ),
            table_key=key,
            table_version=table.version,
            row_count=0,
        ),
    ]


def _fingerprint(schema: GraphSchema) -> bytes:
    described = sorted(
        f"{each.table_key} {registration_metadata(each)} {each.arrow_schema.to_string()}"
        for each in schema.types
    )
    return json.dumps(described, ensure_ascii=False).encode()


_UNMARKED = 1
"""The version of a dataset that does not say yet what decides its versions."""


def open_catalog(root: RepositoryRoot, catalog: ManifestStore, pointers: BranchPointers) -> Loaded:
    """Read the catalog of a repository, or raise ``RepositoryNotFound``."""
    try:
        loaded = catalog.refresh()
    except DatasetNotFound as error:
        raise RepositoryNotFound(location=root.location, found="no catalog there") from error
    except NotADataset as error:
        raise RepositoryNotFound(location=root.location, found=error.found) from error
    begun_only = was_begun(loaded.table) and not loaded.state.publishes
    if begun_only and pointers.get(MAIN) is None:
        if loaded.table.version > _UNMARKED:
            loaded.table.check_version_store()  # which keeps the pointers, too
        found = "a creation that was never finished; call Repository.init again"
        raise RepositoryNotFound(location=root.location, found=found)
    return loaded
