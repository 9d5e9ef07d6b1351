"""Every error that leaves omnigraph_l1, grouped by what its handler does.

* ``BadInput``: the call is wrong; change the call.
* ``NotFound``, ``AlreadyExists``: the named thing is (not) there; choose another, or make it.
* ``Conflict``: another writer was first; refresh, then perhaps try again.
* ``OutcomeUnknown``: the reply was lost; look for the id before doing it again.
* ``StorageError``: the store did not do it; mend the store, the credentials or the disk.
* ``CorruptDataset``, ``UsedAfterFork``: stop, a person is needed.

Invariant: each class derives from ``L1Error``, carries typed attributes, keeps its ``kind`` for
ever, survives pickling, and says what was expected, what was found and what to do. No message
contains a secret. What Lance or obstore raised is chained as ``__cause__``.
"""

from omnigraph_l1._errors.bad_input import (
    BadInput,
    DataProblem,
    FailpointMisuse,
    InvalidData,
    InvalidFilter,
    InvalidLocation,
    InvalidName,
    InvalidRequest,
    InvalidStorageOptions,
    WrongVersionStore,
)
from omnigraph_l1._errors.base import (
    L1Error,
    OmniGraphError,
)
from omnigraph_l1._errors.conflict import (
    CommitConflict,
    Conflict,
    OutcomeUnknown,
    RefChanged,
    RenamedVersions,
    StaleBranch,
    StaleDataset,
)
from omnigraph_l1._errors.damage import (
    CorruptDataset,
    CorruptRef,
    MixedVersionNames,
    MovedDataset,
    UnsafePath,
    UnsupportedPylance,
    UsedAfterFork,
)
from omnigraph_l1._errors.not_found_or_exists import (
    AlreadyExists,
    BranchExists,
    DatasetExists,
    DatasetNotFound,
    NotADataset,
    NotFound,
    RefExists,
    RefNotFound,
    TagExists,
    UnknownBranch,
    UnknownTag,
    UnknownVersion,
)
from omnigraph_l1._errors.storage import (
    AccessDenied,
    StorageError,
    StorageFull,
    StoreUnavailable,
    UnsafeStore,
)

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "BadInput",
    "BranchExists",
    "CommitConflict",
    "Conflict",
    "CorruptDataset",
    "CorruptRef",
    "DataProblem",
    "DatasetExists",
    "DatasetNotFound",
    "FailpointMisuse",
    "InvalidData",
    "InvalidFilter",
    "InvalidLocation",
    "InvalidName",
    "InvalidRequest",
    "InvalidStorageOptions",
    "L1Error",
    "MixedVersionNames",
    "MovedDataset",
    "NotADataset",
    "NotFound",
    "OmniGraphError",
    "OutcomeUnknown",
    "RefChanged",
    "RefExists",
    "RefNotFound",
    "RenamedVersions",
    "StaleBranch",
    "StaleDataset",
    "StorageError",
    "StorageFull",
    "StoreUnavailable",
    "TagExists",
    "UnknownBranch",
    "UnknownTag",
    "UnknownVersion",
    "UnsafePath",
    "UnsafeStore",
    "UnsupportedPylance",
    "UsedAfterFork",
    "WrongVersionStore",
]
