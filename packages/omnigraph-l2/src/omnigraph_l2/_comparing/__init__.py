"""Comparing the rows of a table at two pins: what diff, merge and revert share.

``compared`` costs what changed. A merge needs it twice, from the base to either side: what one side
did not change is in the other side's ``before``. ``rows_at`` is slower where there is no index on
``id``: it reads the ids of the whole table.
"""

from omnigraph_l2._comparing.aligning import Kind, aligned
from omnigraph_l2._comparing.changed import changed_ids
from omnigraph_l2._comparing.comparing import compared, compared_counts, differing
from omnigraph_l2._comparing.doubtful import by_place
from omnigraph_l2._comparing.reading import rows_at
from omnigraph_l2._comparing.values import same_rows

__all__ = [
    "Kind",
    "aligned",
    "by_place",
    "changed_ids",
    "compared",
    "compared_counts",
    "differing",
    "rows_at",
    "same_rows",
]
