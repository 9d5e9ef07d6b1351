"""What differs between two moments of the graph, and what each commit changed."""

from omnigraph_l2._differences.diff import Diff, TableChange, TableDiff, diff_of
from omnigraph_l2._differences.feed import ChangeSet, Feed
from omnigraph_l2._differences.sharing import DiffPart

__all__ = ["ChangeSet", "Diff", "DiffPart", "Feed", "TableChange", "TableDiff", "diff_of"]
