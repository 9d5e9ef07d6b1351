"""The program under test: it moves whole households into a city.

Always: a move is one commit, or nothing; the same move again does nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph_l2 import GraphCommit, Repository, Transaction

__all__ = ["move"]


def move(repo: Repository, people: Sequence[str], city: str) -> GraphCommit:
    """Let people live in a city and nowhere else; the city comes to be if it must."""
    name = f"move {','.join(people)} to {city}"

    def change(tx: Transaction) -> Transaction:
        if not tx.is_repeat:
            listed = ", ".join(f"'{person}'" for person in people)
            tx.upsert("node:City", [{"id": city}])
            tx.delete("edge:Lives", f"src IN ({listed})")
            homes = [{"id": f"{who}-{city}", "src": who, "dst": city} for who in people]
            tx.append("edge:Lives", homes)
        return tx

    commit = repo.retry(change, message=name, operation_hash=name, timeout=10).commit
    assert commit is not None
    return commit
