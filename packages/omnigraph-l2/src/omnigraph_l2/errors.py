"""Every error that leaves omnigraph_l2, grouped by what its handler does.

* ``BadInput``: the call is wrong; change the call.
* ``NotFound``, ``AlreadyExists``: the named thing is (not) there; choose another, or make it.
* ``Conflict``: somebody else was first; look again, then perhaps try again (``repo.retry``).
* ``OutcomeUnknown``: the reply was lost; look for the commit, or the name, before doing it again.
* ``StorageError``: the store did not do it; mend the store, the credentials or the disk.
* ``CorruptRepository``, ``UpgradeRequired``, ``UsedAfterFork``: stop, a person is needed.

Always: each class derives from ``OmniGraphError``, carries typed attributes, keeps its ``kind``
for ever, survives pickling, and says what was expected, what was found and what to do. No message
contains a secret. What the layer below raised is chained as ``__cause__``.
"""

from omnigraph_l2._errors.bad_input import (
    BadInput,
    BranchInUse,
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
from omnigraph_l2._errors.base import (
    OmniGraphError,
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
    UpgradeRequired,
    UsedAfterFork,
)
from omnigraph_l2._errors.merging import (
    MergeConflict,
    MergeConflictKind,
    MergeConflicts,
)
from omnigraph_l2._errors.presence import (
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
from omnigraph_l2._errors.storage import (
    AccessDenied,
    StorageError,
    StorageFull,
    UnsafeStore,
)

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "BadInput",
    "BranchExists",
    "BranchInUse",
    "CommitOutcomeUnknown",
    "Conflict",
    "CorruptRepository",
    "DanglingEdges",
    "DataProblem",
    "DuplicateIds",
    "DuplicateValues",
    "ExpectedVersionMismatch",
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
    "UpgradeRequired",
    "UsedAfterFork",
]
