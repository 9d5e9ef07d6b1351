"""Rows as a table takes them in, without a repository.

The tests of casts draw some thousand examples; a transaction for each would take minutes. That
transactions report the same problems is tested in ``tests/transactions``.
"""

from __future__ import annotations

from omnigraph_l2._rows.data_problems import DataProblems, Findings
from omnigraph_l2._rows.incoming_rows import incoming
from omnigraph_l2.errors import DataProblem

__all__ = ["DataProblem", "DataProblems", "Findings", "incoming"]
