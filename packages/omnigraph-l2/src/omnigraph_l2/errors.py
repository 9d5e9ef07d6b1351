"""Every error that leaves omnigraph_l2, grouped by what its handler does.

* ``BadInput``: the call is wrong; change the call.
* ``NotFound``, ``AlreadyExists``: the named thing is (not) there; choose another, or make it.
* ``Conflict``: another writer was first; read again, then perhaps retry (``repo.retry``).
* ``OutcomeUnknown``: the reply was lost; look for the commit, or the name, before doing it again.
* ``StorageError``: the store did not do it; mend the store, the credentials or the disk.
* ``CorruptRepository``, ``ForeignRepository``, ``UpgradeRequired``, ``UsedAfterFork``: stop, a
  person is needed.

Invariant: each class derives from ``OmniGraphError``, carries typed attributes, keeps its ``kind``,
survives pickling, and says what was expected, what was found and what to do. No message contains a
secret. ``StorageError`` and its subclasses, and ``UsedAfterFork``, are those of ``omnigraph_l1``;
its other errors are translated and chained as ``__cause__``.
"""

from omnigraph_l1.errors import (
    AccessDenied,
    OmniGraphError,
    StorageError,
    StorageFull,
    StoreUnavailable,
    UnsafeStore,
    UnsupportedPylance,
    UsedAfterFork,
)
from omnigraph_l2._errors.bad_input import (
    BadInput,
    BranchInUse,
    ConcurrentUse,
    DanglingEdges,
    DataProblem,
    DuplicateIds,
    DuplicateValues,
    InvalidBranchName,
    InvalidChange,
    InvalidData,
    InvalidFilter,
    InvalidLocation,
    InvalidRequest,
    InvalidSchema,
    InvalidTagName,
    MissingPackage,
    TransactionClosed,
)
from omnigraph_l2._errors.conflict import (
    CommitOutcomeUnknown,
    Conflict,
    ExpectedVersionMismatch,
    LeaseLost,
    OperationRepeated,
    OutcomeUnknown,
    PublishConflict,
    RowLevelCasContention,
    RunConflict,
    SchemaChangeInProgress,
    TableContention,
)
from omnigraph_l2._errors.damage import (
    CorruptRepository,
    ForeignRepository,
    UpgradeRequired,
)
from omnigraph_l2._errors.merging import (
    MergeConflict,
    MergeConflictKind,
    MergeConflicts,
)
from omnigraph_l2._errors.not_found_or_exists import (
    AlreadyExists,
    BranchExists,
    NotFound,
    NotOnBranch,
    RepositoryExists,
    RepositoryNotFound,
    SnapshotExpired,
    TagExists,
    UnknownBranch,
    UnknownCommit,
    UnknownReference,
    UnknownRun,
    UnknownTable,
    UnknownTag,
    UnknownVersion,
)

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "BadInput",
    "BranchExists",
    "BranchInUse",
    "CommitOutcomeUnknown",
    "ConcurrentUse",
    "Conflict",
    "CorruptRepository",
    "DanglingEdges",
    "DataProblem",
    "DuplicateIds",
    "DuplicateValues",
    "ExpectedVersionMismatch",
    "ForeignRepository",
    "InvalidBranchName",
    "InvalidChange",
    "InvalidData",
    "InvalidFilter",
    "InvalidLocation",
    "InvalidRequest",
    "InvalidSchema",
    "InvalidTagName",
    "LeaseLost",
    "MergeConflict",
    "MergeConflictKind",
    "MergeConflicts",
    "MissingPackage",
    "NotFound",
    "NotOnBranch",
    "OmniGraphError",
    "OperationRepeated",
    "OutcomeUnknown",
    "PublishConflict",
    "RepositoryExists",
    "RepositoryNotFound",
    "RowLevelCasContention",
    "RunConflict",
    "SchemaChangeInProgress",
    "SnapshotExpired",
    "StorageError",
    "StorageFull",
    "StoreUnavailable",
    "TableContention",
    "TagExists",
    "TransactionClosed",
    "UnknownBranch",
    "UnknownCommit",
    "UnknownReference",
    "UnknownRun",
    "UnknownTable",
    "UnknownTag",
    "UnknownVersion",
    "UnsafeStore",
    "UnsupportedPylance",
    "UpgradeRequired",
    "UsedAfterFork",
]
