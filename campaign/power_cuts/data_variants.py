"""What a file may contain after a power cut that caught writes to it on their way.

Pure: safe bytes and pending operations in, possible contents out. Always: the first variant is
that all of it arrived, and no two are the same; each has a label that says what was lost.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs

from campaign.power_cuts.disk_models import DiskModel
from campaign.power_cuts.disk_state import DataOperation
from campaign.tracing.file_operations import Truncate, Write

__all__ = ["WHOLE", "Variant", "apply_data", "variants"]

WHOLE = "all of its data"

_MOST_PREFIXES = 4


@attrs.frozen
class Variant:
    """One possible content of a file."""

    label: str
    content: bytes = attrs.field(repr=False)


def apply_data(content: bytes, operations: Sequence[DataOperation]) -> bytes:
    """Carry out operations on bytes."""
    result = bytearray(content)
    for operation in operations:
        if isinstance(operation, Truncate):
            del result[operation.size :]
            result.extend(bytes(operation.size - len(result)))
        else:
            result.extend(bytes(max(0, operation.offset - len(result))))
            result[operation.offset : operation.offset + len(operation.data)] = operation.data
    return bytes(result)


def variants(
    safe: bytes, pending: Sequence[DataOperation], *, model: DiskModel, rng: random.Random
) -> tuple[Variant, ...]:
    """List what may be found: nothing, all, zeros, a beginning, a torn mixture."""
    if not pending:
        return (Variant(WHOLE, safe),)
    whole = apply_data(safe, pending)
    found = [Variant(WHOLE, whole), Variant("none of its data", safe)]
    if model.zeros:
        found.append(Variant("zeros for its data", _zeros(safe, pending)))
    found.extend(_beginnings(safe, pending, model, rng))
    torn = _torn(safe, whole, model, rng)
    if torn is not None:
        found.append(torn)
    unique: dict[bytes, Variant] = {}
    for variant in found:
        unique.setdefault(variant.content, variant)
    return tuple(unique.values())


def _zeros(safe: bytes, pending: Sequence[DataOperation]) -> bytes:
    """Let every new length arrive and no new byte: what stood there before is left."""
    content = safe
    for each in pending:
        size = each.size if isinstance(each, Truncate) else each.offset + len(each.data)
        if isinstance(each, Truncate) or size > len(content):
            content = content[:size].ljust(size, b"\0")
    return content


def _beginnings(
    safe: bytes, pending: Sequence[DataOperation], model: DiskModel, rng: random.Random
) -> list[Variant]:
    ends = list(range(1, len(pending)))
    chosen = sorted(rng.sample(ends, min(len(ends), _MOST_PREFIXES)))
    found = [
        Variant(f"the first {end} of {len(pending)} writes", apply_data(safe, pending[:end]))
        for end in chosen
    ]
    for index in sorted({0, len(pending) - 1}):
        cut = _cut_write(pending[index], model, rng)
        if cut is not None:
            label = f"{len(cut.data)} bytes of write {index + 1} of {len(pending)}"
            found.append(Variant(label, apply_data(safe, [*pending[:index], cut])))
    return found


def _cut_write(operation: DataOperation, model: DiskModel, rng: random.Random) -> Write | None:
    """Cut a write at a border of units, if it crosses one."""
    if isinstance(operation, Truncate):
        return None
    first = model.unit - operation.offset % model.unit
    borders = range(first, len(operation.data), model.unit)
    if not borders:
        return None
    return attrs.evolve(operation, data=operation.data[: rng.choice(borders)])


def _torn(safe: bytes, whole: bytes, model: DiskModel, rng: random.Random) -> Variant | None:
    """Let some units of the new content arrive and others not."""
    tearable = len(whole) if model.zeros else min(len(whole), len(safe))
    starts = [
        start
        for start in range(0, tearable, model.unit)
        if safe[start : start + model.unit] != whole[start : start + model.unit]
    ]
    if len(starts) < 2:  # noqa: PLR2004 - it takes two to differ
        return None
    lost = set(rng.sample(starts, rng.randint(1, len(starts) - 1)))
    result = bytearray(whole)
    for start in lost:
        end = min(start + model.unit, len(whole))
        result[start:end] = safe[start:end].ljust(end - start, b"\0")
    return Variant(f"{len(starts) - len(lost)} of {len(starts)} blocks of its data", bytes(result))
