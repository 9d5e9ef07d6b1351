"""What the outcome of a meeting depends on, beyond the two operations.

Always: each fact is a yes-or-no question with three answers, the third being that nobody knows.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import attrs

__all__ = ["NOTHING_KNOWN", "ConflictFacts", "Fact"]


class Fact(Enum):
    """The name of a fact. Its value is the attribute of ``ConflictFacts`` that answers it."""

    OVERLAP = "overlap"
    SAME_ROWS = "same_rows"
    SAME_KEY = "same_key"
    SAME_FIELD = "same_field"
    INDEXED_FIELD = "indexed_field"
    STABLE_ROW_IDS = "stable_row_ids"
    OUR_REUSE_INDEX = "our_reuse_index"
    THEIR_REUSE_INDEX = "their_reuse_index"
    SAME_INDEX = "same_index"
    SAME_BASE = "same_base"

    @property
    def question(self) -> str:
        """What is asked."""
        return _QUESTIONS[self]


_QUESTIONS: Final = {
    Fact.OVERLAP: (
        "Is there a fragment that both change? A Rewrite changes those that it replaces, a "
        "CreateIndex those that it covers, a Merge all. Without overlap no rows are the same."
    ),
    Fact.SAME_ROWS: "Is there a row that both delete or change?",
    Fact.SAME_KEY: (
        "Do both set one key of the configuration or metadata, or do both insert a row of one "
        "primary key (merge-inserts on the annotated key column)?"
    ),
    Fact.SAME_FIELD: "Is there a field whose data both replace?",
    Fact.INDEXED_FIELD: "Does the index cover a field whose data are replaced?",
    Fact.STABLE_ROW_IDS: "Has the dataset stable row ids?",
    Fact.OUR_REUSE_INDEX: (
        "Does ours bring a fragment-reuse index? A Rewrite carries one where it leaves the other "
        "indexes for later; a CreateIndex may be the one that writes it."
    ),
    Fact.THEIR_REUSE_INDEX: "Does theirs bring a fragment-reuse index?",
    Fact.SAME_INDEX: (
        "Do both write the same singleton index, the fragment-reuse index or that of the "
        "write-ahead log? Two plain indexes of one name are not meant."
    ),
    Fact.SAME_BASE: "Do both add a base of the same id, name or path?",
}


def _answer() -> bool | None:
    checked: bool | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.instance_of(bool))
    )
    return checked


@attrs.frozen(kw_only=True)
class ConflictFacts:
    """What is known of two operations that meet: True, False, or None for unknown.

    Leave out what you do not know or what does not matter. ``conflict`` then answers with the
    worse of the outcomes that are still possible.
    """

    overlap: bool | None = _answer()
    """Both change a fragment in common. Without overlap no rows are the same."""
    same_rows: bool | None = _answer()
    """Both delete or change a row in common."""
    same_key: bool | None = _answer()
    """Both set one key of the configuration or metadata, or insert a row of one primary key."""
    same_field: bool | None = _answer()
    """Both replace the data of a field in common."""
    indexed_field: bool | None = _answer()
    """The index covers a field whose data are replaced."""
    stable_row_ids: bool | None = _answer()
    """The dataset has stable row ids."""
    our_reuse_index: bool | None = _answer()
    """Ours carries a fragment-reuse index (a Rewrite) or writes it (a CreateIndex)."""
    their_reuse_index: bool | None = _answer()
    """Theirs carries a fragment-reuse index (a Rewrite) or writes it (a CreateIndex)."""
    same_index: bool | None = _answer()
    """Both write the same singleton index; two plain indexes of one name are not meant."""
    same_base: bool | None = _answer()
    """Both add a base of the same id, name or path."""

    def answer(self, fact: Fact) -> bool | None:
        """Give what is known of ``fact``."""
        known: bool | None = getattr(self, fact.value)
        return known


NOTHING_KNOWN: Final = ConflictFacts()
