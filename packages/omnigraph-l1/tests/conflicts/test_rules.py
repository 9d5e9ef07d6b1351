"""Each sentence of Lance's transaction specification, as examples that hold and that do not.

White-box: each row of the private table of rules has an example here.
"""

from __future__ import annotations

import pytest

from omnigraph_l1 import ConflictFacts, Resolution, TransactionKind, conflict
from omnigraph_l1._conflict_matrix import RULES

Example = tuple[str, str, dict[str, bool], str]

# Ours, theirs (several, with blanks between), facts, outcome. Facts left out are unknown.
EXAMPLES: tuple[Example, ...] = (
    ("Append", "Overwrite Restore UpdateMemWalState", {}, "incompatible"),
    ("Append", "Append Delete Update Rewrite Merge CreateIndex Project", {}, "compatible"),

    ("Delete", "Overwrite Restore UpdateMemWalState", {}, "incompatible"),
    ("Delete", "Merge Rewrite DataReplacement", {"overlap": True}, "retryable"),
    ("Delete", "Merge Rewrite DataReplacement", {"overlap": False}, "compatible"),
    ("Delete", "Delete Update", {"same_rows": True}, "retryable"),
    ("Delete", "Delete Update", {"same_rows": False}, "rebasable"),
    ("Delete", "Delete Update", {"overlap": False}, "rebasable"),
    ("Delete", "Append CreateIndex Project UpdateConfig", {}, "compatible"),

    ("Overwrite", "Overwrite UpdateMemWalState", {}, "retryable"),
    ("Overwrite", "UpdateConfig", {"same_key": True}, "retryable"),
    ("Overwrite", "UpdateConfig", {"same_key": False}, "compatible"),
    ("Overwrite", "Append Delete Restore Update Rewrite Merge", {}, "compatible"),

    ("CreateIndex", "Overwrite Restore UpdateMemWalState", {}, "incompatible"),
    ("CreateIndex", "Rewrite", {}, "retryable"),
    ("CreateIndex", "Rewrite",
     {"overlap": True, "stable_row_ids": False, "their_reuse_index": False}, "retryable"),
    ("CreateIndex", "Rewrite", {"overlap": False}, "compatible"),
    ("CreateIndex", "Rewrite", {"stable_row_ids": True}, "compatible"),
    ("CreateIndex", "Rewrite", {"their_reuse_index": True}, "compatible"),
    ("CreateIndex", "DataReplacement", {"overlap": True, "indexed_field": True}, "retryable"),
    ("CreateIndex", "DataReplacement", {"overlap": False}, "compatible"),
    ("CreateIndex", "DataReplacement", {"indexed_field": False}, "compatible"),
    ("CreateIndex", "CreateIndex", {"same_index": True}, "rebasable"),
    ("CreateIndex", "CreateIndex", {"same_index": False}, "compatible"),
    ("CreateIndex", "Append Delete Update Merge Project", {}, "compatible"),

    ("Rewrite", "Overwrite Restore", {}, "incompatible"),
    ("Rewrite", "Merge", {}, "retryable"),
    ("Rewrite", "DataReplacement Delete Update", {"overlap": True}, "retryable"),
    ("Rewrite", "DataReplacement Delete Update", {"overlap": False}, "compatible"),
    ("Rewrite", "Rewrite", {"overlap": True}, "retryable"),
    ("Rewrite", "Rewrite", {"overlap": False, "our_reuse_index": False}, "compatible"),
    ("Rewrite", "Rewrite", {"overlap": False, "their_reuse_index": False}, "compatible"),
    ("Rewrite", "Rewrite",
     {"overlap": False, "our_reuse_index": True, "their_reuse_index": True}, "retryable"),
    ("Rewrite", "CreateIndex", {}, "retryable"),
    ("Rewrite", "CreateIndex",
     {"overlap": True, "stable_row_ids": False, "our_reuse_index": False}, "retryable"),
    ("Rewrite", "CreateIndex", {"stable_row_ids": True, "our_reuse_index": False}, "compatible"),
    ("Rewrite", "CreateIndex",
     {"our_reuse_index": True, "their_reuse_index": False}, "compatible"),
    ("Rewrite", "CreateIndex",
     {"our_reuse_index": True, "their_reuse_index": True}, "rebasable"),
    ("Rewrite", "Append ReserveFragments UpdateMemWalState", {}, "compatible"),

    ("Merge", "Overwrite Restore UpdateMemWalState Project", {}, "incompatible"),
    ("Merge", "Update Append Delete Merge Rewrite DataReplacement", {}, "retryable"),
    ("Merge", "Update Append Delete Merge Rewrite DataReplacement",
     {"overlap": False, "same_rows": False}, "retryable"),
    ("Merge", "CreateIndex UpdateConfig", {}, "compatible"),

    ("Project", "Overwrite Restore UpdateMemWalState", {}, "incompatible"),
    ("Project", "Project Merge", {}, "retryable"),
    ("Project", "Append Delete Update Rewrite", {}, "compatible"),

    ("Restore", "UpdateMemWalState", {}, "incompatible"),
    ("Restore", "Append Delete Overwrite Restore Rewrite Merge UpdateConfig", {}, "compatible"),

    ("ReserveFragments", "Overwrite Restore", {}, "incompatible"),
    ("ReserveFragments", "Append Rewrite ReserveFragments Merge", {}, "compatible"),

    ("Clone", "Append Overwrite Restore Clone", {}, "compatible"),
    ("Append", "Clone", {}, "compatible"),

    ("Update", "Overwrite Restore", {}, "incompatible"),
    ("Update", "Merge", {}, "retryable"),
    ("Update", "Merge", {"overlap": False}, "retryable"),
    ("Update", "Rewrite DataReplacement", {"overlap": True}, "retryable"),
    ("Update", "Rewrite DataReplacement", {"overlap": False}, "compatible"),
    ("Update", "Delete Update", {"same_rows": True}, "retryable"),
    ("Update", "Delete", {"same_rows": False}, "rebasable"),
    ("Update", "Update", {"same_rows": False, "same_key": False}, "rebasable"),
    ("Update", "Delete Update", {"overlap": False, "same_key": False}, "rebasable"),
    ("Update", "Update", {"overlap": False, "same_key": True}, "retryable"),
    ("Update", "Append UpdateMemWalState", {}, "compatible"),

    ("UpdateConfig", "Overwrite", {}, "incompatible"),
    ("UpdateConfig", "UpdateConfig", {"same_key": True}, "incompatible"),
    ("UpdateConfig", "UpdateConfig", {"same_key": False}, "compatible"),
    ("UpdateConfig", "Restore Merge Append", {}, "compatible"),

    ("DataReplacement", "Overwrite Restore UpdateMemWalState", {}, "incompatible"),
    ("DataReplacement", "Merge", {}, "retryable"),
    ("DataReplacement", "Rewrite Update", {"overlap": True}, "retryable"),
    ("DataReplacement", "Rewrite Update", {"overlap": False}, "compatible"),
    ("DataReplacement", "DataReplacement", {"overlap": True, "same_field": True}, "retryable"),
    ("DataReplacement", "DataReplacement", {"overlap": False}, "compatible"),
    ("DataReplacement", "DataReplacement", {"same_field": False}, "compatible"),
    ("DataReplacement", "CreateIndex", {"indexed_field": True}, "retryable"),
    ("DataReplacement", "CreateIndex", {"indexed_field": False}, "compatible"),
    ("DataReplacement", "Delete Append", {}, "compatible"),

    ("UpdateMemWalState", " ".join(kind.value for kind in TransactionKind), {}, "incompatible"),

    ("UpdateBases", "UpdateBases", {"same_base": True}, "incompatible"),
    ("UpdateBases", "UpdateBases", {"same_base": False}, "compatible"),
    ("UpdateBases", "Overwrite Restore Append", {}, "compatible"),
)  # fmt: skip


def _cases() -> list[Example]:
    return [
        (ours, one, facts, outcome)
        for ours, theirs, facts, outcome in EXAMPLES
        for one in theirs.split()
    ]


@pytest.mark.parametrize(("ours", "theirs", "facts", "outcome"), _cases())
def test_the_table_says_what_the_specification_says(
    ours: str, theirs: str, facts: dict[str, bool], outcome: str
) -> None:
    """Each sentence, with its condition fulfilled, not fulfilled, and unknown."""
    found = conflict(TransactionKind(ours), TransactionKind(theirs), ConflictFacts(**facts))
    assert found is Resolution(outcome)


def test_no_rule_is_without_an_example() -> None:
    """For each row of the table, and each of theirs, some example ends as the row says."""
    shown = {(ours, theirs, outcome) for ours, theirs, _, outcome in _cases()}
    rows = {(row.ours.value, one.value, row.then.value) for row in RULES for one in row.theirs}
    assert rows - shown == set()


def test_our_publish_stands_on_the_inserted_keys() -> None:
    """Two merge-inserts of one annotated key collide, and of two keys they do not."""
    update = TransactionKind.UPDATE
    apart = ConflictFacts(overlap=False, same_key=False)
    assert conflict(update, update, ConflictFacts(same_key=True)) is Resolution.RETRYABLE
    assert conflict(update, update, apart) is Resolution.REBASABLE


def test_the_order_matters() -> None:
    """An Append is refused over an Overwrite, and an Overwrite lands over an Append."""
    append, overwrite = TransactionKind.APPEND, TransactionKind.OVERWRITE
    assert conflict(append, overwrite) is Resolution.INCOMPATIBLE
    assert conflict(overwrite, append) is Resolution.COMPATIBLE


def test_preconditions_are_told() -> None:
    """What an operation needs first stands in its summary; each has one."""
    assert "ReserveFragments" in TransactionKind.REWRITE.summary
    assert "first operation" in TransactionKind.CLONE.summary
    assert all(kind.summary.endswith(".") for kind in TransactionKind)
