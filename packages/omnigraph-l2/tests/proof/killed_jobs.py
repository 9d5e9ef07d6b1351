"""What is killed in the middle, and the repository it is done to. A module that children import."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository

__all__ = ["SCHEMA", "change_all", "prepared", "publish_many"]

SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"name": pa.string()}), NodeType("City", {"name": pa.string()})],
    edges=[EdgeType("Lives", "Person", "City")],
)
_PUBLISHES_BEFORE = 127
"""So many that the next one completes the log, and prunes and compacts the catalog."""


@cache
def _template() -> Path:
    location = Path(tempfile.mkdtemp(prefix="killed-jobs-"))
    with Repository.init(location / "repo", SCHEMA, durability="none") as repository:
        with repository.transaction() as tx:
            tx.append("node:Person", [{"id": "ann", "name": "Ann"}, {"id": "bob", "name": "Bob"}])
            tx.append("node:City", [{"id": "oslo", "name": "Oslo"}])
            tx.append("edge:Lives", [{"id": "ann-oslo", "src": "ann", "dst": "oslo"}])
        for turn in range(_PUBLISHES_BEFORE - 1):
            with repository.transaction() as tx:
                tx.upsert("node:City", [{"id": "oslo", "name": f"Oslo {turn}"}])
    return location


def prepared(location: Path) -> Sequence[str]:
    """Copy the repository to a location of its own."""
    shutil.copytree(_template(), location, dirs_exist_ok=True)
    return (str(location / "repo"),)


def change_all(uri: str) -> None:
    """Change three tables in every way, in one transaction."""
    with Repository.open(uri) as repository, repository.transaction(message="killed") as tx:
        tx.append("node:Person", [{"id": "eve", "name": "Eve"}])
        tx.upsert("node:City", [{"id": "oslo", "name": "Kristiania"}, {"id": "rome", "name": None}])
        tx.delete("edge:Lives", ids=["ann-oslo"])
        tx.append("edge:Lives", [{"id": "eve-rome", "src": "eve", "dst": "rome"}])


def publish_many(uri: str) -> None:
    """Publish often enough that everything that is done now and then is done."""
    with Repository.open(uri) as repository:
        for turn in range(40):
            with repository.transaction(actor="a", message="m") as tx:
                tx.append("node:Person", [{"id": f"p{turn}", "name": "P"}])
