"""The steps that an ``EvolvePlan`` consists of."""

from omnigraph_l2._evolve.evolve_steps import (
    AddProperty,
    AddType,
    ChangeEnds,
    ChangeIndexes,
    ChangeUnique,
    DropProperty,
    DropType,
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
    "EvolveStep",
]
