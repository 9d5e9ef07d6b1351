"""What is wrong with data, told in the words of the table that it was meant for.

Always: no error of the folder that looks at data leaves a transaction as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph_l2._data.problems import DataProblems, SpillFailed
from omnigraph_l2.errors import DataProblem, InvalidData, StorageError

__all__ = ["data_border"]


@contextmanager
def data_border(table_key: str) -> Iterator[None]:
    """Turn problems with data, or with keeping it on disk for a while, into public errors."""
    try:
        yield
    except DataProblems as found:
        problems = [DataProblem(each.column, each.problem, each.row) for each in found.problems]
        if found.more:
            problems.append(DataProblem("*", f"and {found.more} more problems"))
        raise InvalidData(table_key=table_key, problems=tuple(problems)) from None
    except SpillFailed as error:
        raise StorageError(place=error.directory, detail=str(error)) from error
