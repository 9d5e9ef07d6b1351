"""What happens when two of Lance's operations meet, answered from Lance's specification."""

from omnigraph_l1._conflicts.evaluating import conflict
from omnigraph_l1._conflicts.facts import ConflictFacts
from omnigraph_l1._kinds import TransactionKind

__all__ = ["ConflictFacts", "TransactionKind", "conflict"]
