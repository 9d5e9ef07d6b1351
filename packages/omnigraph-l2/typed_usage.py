"""How omnigraph-l2 is used, for the type checker."""

from __future__ import annotations

from omnigraph_l2 import EvolvePlan, GraphCommit, GraphSchema, OmniGraphError, Repository


def kind_of(error: OmniGraphError) -> str:
    """Tell errors apart without reading messages."""
    return error.kind


def evolve(repository: Repository, schema: GraphSchema) -> GraphCommit | None:
    """Look at the plan, then apply it."""
    plan: EvolvePlan = repository.evolve(schema, dry_run=True)
    keys: list[str] = [step.table_key for step in plan.steps]
    return repository.evolve(schema, message=f"changes {keys}")
