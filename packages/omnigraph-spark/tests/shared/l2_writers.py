"""What writers without Spark do to a repository meanwhile, each in a process of its own."""

from __future__ import annotations

from spark_graph import KNOWS, PERSON, knows, person

from omnigraph_l2 import Repository

__all__ = ["adding", "changing"]


def adding(uri: str, rounds: int) -> None:
    """Add a person and an edge in each round."""
    with Repository.open(uri, durability="none") as repo:
        for number in range(rounds):
            with repo.transaction() as tx:
                tx.append(PERSON, [person(f"added{number}", number)])
                tx.append(KNOWS, [knows(f"added{number}", f"added{number}", "a")])


def changing(uri: str, rounds: int) -> None:
    """Change one's own person in each round, and take another away again."""
    with Repository.open(uri, durability="none") as repo:
        for number in range(rounds):
            repo.retry(
                lambda tx, number=number: tx.upsert(
                    PERSON, [person("changing", number), person("passing", number)]
                )
            )
            repo.retry(lambda tx: tx.delete(PERSON, ids=["passing"]))
