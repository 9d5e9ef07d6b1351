"""The record of one run: the tree before it, and every operation on files in order.

Invariant: the record is complete, or it was never made (``Untraceable``). It holds all bytes that
were written, so that any moment of the run can be built again without the process.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from campaign.power_cuts.data_variants import Variant
from campaign.power_cuts.disk_models import STRICT_DISK, DiskModel
from campaign.power_cuts.disk_state import situations
from campaign.power_cuts.power_cut import PowerCut, Scene, choose, nothing_lost
from campaign.tracing.file_operations import Mark, Operation, is_durable_operation
from campaign.tracing.tree_snapshot import Snapshot

__all__ = ["PowerCuts", "Trace"]


@attrs.frozen
class PowerCuts:
    """States that a power cut could leave. ``exhaustive``: there are no others."""

    states: tuple[PowerCut, ...]
    exhaustive: bool = attrs.field(kw_only=True)

    def __iter__(self) -> Iterator[PowerCut]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)


@attrs.frozen(kw_only=True)
class Trace:
    """What a process did to the files below ``root``."""

    root: str
    operations: tuple[Operation, ...]
    snapshot: Snapshot = attrs.field(repr=False)

    @property
    def marks(self) -> tuple[str, ...]:
        """What the process called ``mark`` with, in order."""
        return tuple(each.text for each in self.operations if isinstance(each, Mark))

    @property
    def file_operations(self) -> tuple[Operation, ...]:
        """The operations on files alone: the n-th of them is where ``AtFileOperation`` kills."""
        return tuple(each for each in self.operations if is_durable_operation(each))

    def power_cuts(
        self, *, model: DiskModel = STRICT_DISK, seed: int = 0, limit: int = 500
    ) -> PowerCuts:
        """List states that a power cut during or after the run could have left on disk."""
        states, exhaustive = choose(self._scenes(model, seed), seed=seed, limit=limit)
        return PowerCuts(states, exhaustive=exhaustive)

    def after_all(self) -> PowerCut:
        """Give the tree as the run left it, with nothing lost."""
        return nothing_lost(self._scenes(STRICT_DISK, 0)[-1])

    def _scenes(self, model: DiskModel, seed: int) -> list[Scene]:
        known: dict[tuple[int, int, int], tuple[Variant, ...]] = {}
        return [
            Scene(self.snapshot, situation, model, seed, known)
            for situation in situations(self.operations, model)
        ]

    def __str__(self) -> str:
        lines = [f"{number:4} {each}" for number, each in enumerate(self.operations, start=1)]
        return "\n".join([f"operations below {self.root}", *lines])
