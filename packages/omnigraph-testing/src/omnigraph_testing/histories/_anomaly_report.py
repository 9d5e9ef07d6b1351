"""What a checker found: kinds of anomalies, the cycle behind one, and the text for a person.

Invariant: a report is ``ok`` exactly if it lists no anomaly. Reports are plain values: frozen,
picklable, equal where they say the same.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from attrs import field, frozen

from omnigraph_testing.histories._history_model import Key

__all__ = ["Anomaly", "AnomalyKind", "Edge", "Relation", "Report"]


class AnomalyKind(str, Enum):
    """What went wrong, worst first. The value is stable; the usual short name is in brackets."""

    LOST_UPDATE = "lost update"  # two writers built on one version, or an append vanished
    UNEXPLAINED_ELEMENT = "unexplained element"  # nobody ever wrote what was read
    ABORTED_READ = "aborted read"  # [G1a] a dirty read of something that failed
    INTERMEDIATE_READ = "intermediate read"  # [G1b] a part of a transaction was seen
    DUPLICATE_ELEMENT = "duplicate element"  # one append took effect twice
    INCOMPATIBLE_ORDER = "incompatible order"  # two reads, neither a prefix of the other
    INTERNAL = "internal inconsistency"  # a transaction contradicts itself
    PHANTOM = "phantom"  # a second read in one transaction sees what others added since
    DIRTY_WRITE = "dirty write"  # [G0] a cycle of writes alone
    CIRCULAR_INFORMATION = "circular information flow"  # [G1c] writes and reads of writes
    READ_SKEW = "read skew"  # [G-single] a cycle with one missed write
    WRITE_SKEW = "write skew"  # [G2] a cycle with several missed writes
    STALE_READ = "stale read"  # a read misses what had been acknowledged before it began
    ORDER_VIOLATION = (
        "order violation"  # another contradiction to the order of time or of a process
    )


class Relation(IntEnum):
    """Why one transaction comes before another. Smaller numbers make the simpler argument."""

    WRITE_WRITE = 0
    WRITE_READ = 1
    READ_WRITE = 2
    PROCESS = 3
    REAL_TIME = 4


@frozen
class Edge:
    """One step of a cycle: ``before`` must come before ``after``, because of ``why``."""

    before: int
    after: int
    relation: Relation = field(kw_only=True)
    key: Key | None = field(kw_only=True, default=None)
    why: str = field(kw_only=True)

    def __str__(self) -> str:
        return f"{self.why}: T{self.before} before T{self.after}"


@frozen
class Anomaly:
    """One thing that no serial order explains.

    ``ids`` are the transactions in it, in the order of the cycle if there is one. ``smallest``
    is False only where a group of conflicts was too big to search it for an even smaller cycle.
    """

    kind: AnomalyKind
    ids: tuple[int, ...]
    key: Key | None = field(kw_only=True, default=None)
    detail: str = field(kw_only=True, default="")
    cycle: tuple[Edge, ...] = field(kw_only=True, default=())
    smallest: bool = field(kw_only=True, default=True)
    scene: tuple[str, ...] = field(kw_only=True, default=())

    def __str__(self) -> str:
        names = ", ".join(f"T{number}" for number in self.ids)
        lines = [f"{self.kind.value}: {names}"]
        lines += [f"  {line}" for line in self.scene]
        if self.detail:
            lines.append(f"  {self.detail}")
        if self.cycle:
            lines.append("  No order of them fits:")
            lines += [f"  - {edge}" for edge in self.cycle]
        if not self.smallest:
            lines.append("  (There may be a smaller cycle; the search was cut short.)")
        return "\n".join(lines)


@frozen
class Report:
    """The verdict on one history. ``str(report)`` is meant to be read in a failed test."""

    guarantee: str
    anomalies: tuple[Anomaly, ...]
    checked: str = field(kw_only=True)
    unlisted: int = field(kw_only=True, default=0)

    @property
    def ok(self) -> bool:
        """Whether there is an order that explains everything that was seen."""
        return not self.anomalies

    @property
    def kinds(self) -> frozenset[AnomalyKind]:
        """The kinds of the anomalies that are listed."""
        return frozenset(anomaly.kind for anomaly in self.anomalies)

    def __str__(self) -> str:
        if self.ok:
            return f"{self.checked}: {self.guarantee}."
        count = len(self.anomalies)
        found = "1 anomaly" if count == 1 else f"{count} anomalies"
        if self.unlisted:
            found += f", and {self.unlisted} more that are not listed"
        lines = [f"{self.checked}: NOT {self.guarantee}. {found}."]
        for number, anomaly in enumerate(self.anomalies, start=1):
            lines += ["", f"{number}. {anomaly}"]
        return "\n".join(lines)
