"""The order in which the elements of one key were appended, as far as reads show it.

The longest read is the trace; every other read must be a prefix of it. Committed elements that no
read shows come after it, in an unknown order.
Invariant: a read that is no prefix, shows an element twice or one from nowhere is reported; what is
left is consistent within the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field

from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind
from omnigraph_testing.histories._history_model import Element, History, Key, show_key
from omnigraph_testing.histories._observations import Observation
from omnigraph_testing.histories._plain_words import describe, show_list

__all__ = ["Versions", "infer_versions"]


@define
class Versions:
    """What is known of one key. Numbers are positions of transactions in the history."""

    key: Key
    trace: tuple[Element, ...]
    shown_by: int
    prefixes: list[tuple[int, int]]  # (length of the version read, reader), shortest first
    strays: list[Observation] = field(factory=list)

    def first_readers(self) -> dict[Element, int]:
        """Map every element that some read shows to one who read it, in a short version."""
        found: dict[Element, int] = {}
        for length, reader in self.prefixes:
            for element in self.trace[len(found) : length]:
                found[element] = reader
        for stray in self.strays:
            for element in stray.version:
                found.setdefault(element, stray.reader)
        return found


def infer_versions(
    history: History,
    key: Key,
    observations: Sequence[Observation],
    writers: Mapping[Element, int],
) -> tuple[Versions, list[Anomaly]]:
    """Find the trace of one key and report every read that cannot belong to it."""
    anomalies: list[Anomaly] = []
    longest_first = sorted(observations, key=lambda one: -len(one.version))
    trace: tuple[Element, ...] = ()
    shown_by = longest_first[0].reader
    for observation in longest_first:
        if _repeated(observation.version) is None:
            trace, shown_by = observation.version, observation.reader
            break
    versions = Versions(key, trace, shown_by, [])
    for observation in reversed(longest_first):
        length = len(observation.version)
        if observation.version == trace[:length]:
            versions.prefixes.append((length, observation.reader))
        else:
            versions.strays.append(observation)
            anomalies.append(_stray(history, versions, observation))
    anomalies += (
        _from_nowhere(history, key, element, reader)
        for element, reader in versions.first_readers().items()
        if element not in writers
    )
    return versions, anomalies


def _repeated(version: tuple[Element, ...]) -> Element | None:
    if len(set(version)) == len(version):
        return None
    seen: set[Element] = set()
    for element in version:
        if element in seen:
            return element
        seen.add(element)
    return None


def _stray(history: History, versions: Versions, stray: Observation) -> Anomaly:
    reader = history.transactions[stray.reader]
    other = history.transactions[versions.shown_by]
    name = show_key(versions.key)
    repeated = _repeated(stray.version)
    if repeated is not None:
        return Anomaly(
            AnomalyKind.DUPLICATE_ELEMENT,
            (reader.id,),
            key=versions.key,
            detail=f"T{reader.id} read {show_list(stray.version)} of {name}: {repeated!r} is there "
            "twice, and was appended once.",
            scene=(describe(reader, (versions.key,)),),
        )
    place = next(
        place
        for place, (found, traced) in enumerate(zip(stray.version, versions.trace, strict=False))
        if found != traced
    )
    return Anomaly(
        AnomalyKind.INCOMPATIBLE_ORDER,
        (reader.id, other.id),
        key=versions.key,
        detail=f"T{reader.id} read {show_list(stray.version)} of {name} and T{other.id} read "
        f"{show_list(versions.trace)}: at place {place + 1} one has {stray.version[place]!r}, the "
        f"other {versions.trace[place]!r}. Neither can have grown into the other.",
        scene=(describe(reader, (versions.key,)), describe(other, (versions.key,))),
    )


def _from_nowhere(history: History, key: Key, element: Element, reader: int) -> Anomaly:
    transaction = history.transactions[reader]
    return Anomaly(
        AnomalyKind.UNEXPLAINED_ELEMENT,
        (transaction.id,),
        key=key,
        detail=f"T{transaction.id} read {element!r} of {show_key(key)}, which nobody appended.",
        scene=(describe(transaction, (key,)),),
    )
