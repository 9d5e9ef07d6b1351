"""The operations that a Lance transaction can hold: what each does, and what it needs first.

Invariant: a value is the name by which Lance's specification, its texts and its records call the
operation. Which operation stands in the way of which is not said here: that is
``_conflict_matrix``. A leaf of the package.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["Resolution", "TransactionKind"]


class TransactionKind(Enum):
    """An operation of Lance's transaction specification. ``summary`` says what it does."""

    APPEND = "Append"
    DELETE = "Delete"
    OVERWRITE = "Overwrite"
    CREATE_INDEX = "CreateIndex"
    REWRITE = "Rewrite"
    MERGE = "Merge"
    PROJECT = "Project"
    RESTORE = "Restore"
    RESERVE_FRAGMENTS = "ReserveFragments"
    CLONE = "Clone"
    UPDATE = "Update"
    UPDATE_CONFIG = "UpdateConfig"
    DATA_REPLACEMENT = "DataReplacement"
    UPDATE_MEM_WAL_STATE = "UpdateMemWalState"
    UPDATE_BASES = "UpdateBases"

    @property
    def summary(self) -> str:
        """What the operation does, in a sentence or two."""
        return _SUMMARIES[self]

    @property
    def again(self) -> str:
        """What computing the operation again does, when another one came first."""
        return _AGAIN[self]


_SUMMARIES: Final = {
    TransactionKind.APPEND: "Adds rows in new fragments.",
    TransactionKind.DELETE: "Marks rows as deleted, or drops whole fragments.",
    TransactionKind.OVERWRITE: "Replaces rows and schema by new ones.",
    TransactionKind.CREATE_INDEX: "Adds, replaces or drops indexes.",
    TransactionKind.REWRITE: (
        "Writes the same rows to new files, as a compaction does. Fragment ids must be reserved "
        "first, by a ReserveFragments."
    ),
    TransactionKind.MERGE: "Adds columns. It lists all fragments of the table again.",
    TransactionKind.PROJECT: "Drops or renames columns, in the schema only.",
    TransactionKind.RESTORE: "Makes an older version the newest one.",
    TransactionKind.RESERVE_FRAGMENTS: "Sets fragment ids aside for a Rewrite.",
    TransactionKind.CLONE: (
        "Makes a copy of a dataset. It can only be the first operation of the new one, so it "
        "meets no other."
    ),
    TransactionKind.UPDATE: (
        "Changes and inserts rows, as a merge-insert does. It deletes rows and writes them again "
        "(rewrite rows), or replaces whole columns of a fragment (rewrite columns)."
    ),
    TransactionKind.UPDATE_CONFIG: (
        "Sets configuration, or the metadata of the table, its schema or its fields."
    ),
    TransactionKind.DATA_REPLACEMENT: "Puts new files in the place of columns of fragments.",
    TransactionKind.UPDATE_MEM_WAL_STATE: "Moves the state of the write-ahead log on.",
    TransactionKind.UPDATE_BASES: "Adds places where data files may lie.",
}

_AGAIN: Final = {
    TransactionKind.APPEND: "adds the same rows to the newest version",
    TransactionKind.DELETE: "looks for the rows once more, and deletes those that match now",
    TransactionKind.OVERWRITE: "replaces what the other commit wrote, too",
    TransactionKind.CREATE_INDEX: "builds the index over the rows as they are now",
    TransactionKind.REWRITE: "plans again, over the fragments as they are now",
    TransactionKind.MERGE: "adds the columns to the table as it is now",
    TransactionKind.PROJECT: "changes the columns that there are now",
    TransactionKind.RESTORE: "brings the same content back, over what the other commit made",
    TransactionKind.RESERVE_FRAGMENTS: "sets further fragment ids aside",
    TransactionKind.CLONE: "fails again: a clone is the first version of its dataset",
    TransactionKind.UPDATE: (
        "compares with the rows of now, and replaces what the other commit wrote in the same rows"
    ),
    TransactionKind.UPDATE_CONFIG: "sets its values over those of the other commit",
    TransactionKind.DATA_REPLACEMENT: "writes the columns for the rows as they are now",
    TransactionKind.UPDATE_MEM_WAL_STATE: "goes on from the state that the other commit left",
    TransactionKind.UPDATE_BASES: "adds its places to those of the other commit",
}


class Resolution(Enum):
    """How a commit fares when another commit came first."""

    COMPATIBLE = "compatible"
    """Both stand as they are."""
    REBASABLE = "rebasable"
    """Lance puts the later one on top of the earlier one."""
    RETRYABLE = "retryable"
    """Refused, but the same change, computed again on the new version, can succeed."""
    INCOMPATIBLE = "incompatible"
    """Refused, and computing it again from the same intent makes no sense."""

    @property
    def advice(self) -> str:
        """Return in one sentence what a caller does about it."""
        return _ADVICE[self]


_ADVICE = {
    Resolution.COMPATIBLE: "Nothing needs to be done.",
    Resolution.REBASABLE: "Nothing needs to be done: Lance combines the two.",
    Resolution.RETRYABLE: "Refresh the handle, compute the change again and commit it.",
    Resolution.INCOMPATIBLE: "Refresh the handle and decide whether the change is still wanted.",
}
