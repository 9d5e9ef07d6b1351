"""Changing the schema of a graph: what it takes, shown as a plan, and applied as one publish."""

from omnigraph_l2._evolving.evolving import Evolver
from omnigraph_l2._evolving.steps import (
    AddProperty,
    AddType,
    ChangeEnds,
    ChangeIndexes,
    ChangeUnique,
    DropProperty,
    DropType,
    EvolvePlan,
    EvolveStep,
)

__all__ = [
    "AddProperty",
    "AddType",
    "ChangeEnds",
    "ChangeIndexes",
    "ChangeUnique",
    "DropProperty",
    "DropType",
    "EvolvePlan",
    "EvolveStep",
    "Evolver",
]
