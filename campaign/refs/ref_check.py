"""Is a history of ref calls linearizable? If not, which calls show it.

Within a life the order of writes is known; the lives of one ref must not overlap; and absence must
have been seen between them. Every ref stands for itself.
Invariant: sound and complete, in time ``n log n``. A refusal that shows what it found is a read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf

from attrs import frozen

from campaign.refs.ref_journal import RefAction, RefCall
from campaign.refs.ref_lives import Life, Lives, find_lives, ref_anomaly
from omnigraph_testing.errors import InvalidHistory
from omnigraph_testing.histories._anomaly_report import Anomaly, AnomalyKind, Report
from omnigraph_testing.histories._history_model import Outcome
from omnigraph_testing.histories._plain_words import show_span

__all__ = ["check_refs"]

_SEVERITY = {kind: location for location, kind in enumerate(AnomalyKind)}
_LISTED = 10


@frozen
class _Zone:
    """A life must be there from ``since`` to ``until``; if that is backwards, at one moment."""

    since: float
    until: float
    early: RefCall
    late: RefCall


def check_refs(calls: Iterable[RefCall]) -> Report:
    """Check each ref by itself. All write ids must differ."""
    by_name: dict[str, list[RefCall]] = {}
    written: dict[str, int] = {}
    count = 0
    for call in calls:
        count += 1
        by_name.setdefault(call.name, []).append(call)
        if call.wrote:
            other = written.setdefault(call.wrote, call.id)
            if other != call.id:
                detail = f"T{other} and T{call.id} share the write id {call.wrote}"
                raise InvalidHistory(source="ref calls", detail=detail)
    anomalies: list[Anomaly] = []
    for of_name in by_name.values():
        found = find_lives(of_name)
        anomalies += found.anomalies
        for life in found.lives:
            anomalies += _within(life)
        if not found.anomalies:
            anomalies += _between(found)
    listed = sorted(_first_of_each(anomalies), key=lambda one: _SEVERITY[one.kind])
    return Report(
        "linearizable",
        tuple(listed),
        checked=f"{count} calls on {len(by_name)} refs",
        unlisted=len(anomalies) - len(listed),
    )


def _first_of_each(anomalies: Iterable[Anomaly]) -> Iterator[Anomaly]:
    counts: dict[AnomalyKind, int] = {}
    for anomaly in anomalies:
        counts[anomaly.kind] = counts.get(anomaly.kind, 0) + 1
        if counts[anomaly.kind] <= _LISTED:
            yield anomaly


def _within(life: Life) -> Iterator[Anomaly]:
    """Report every call that ended before one began that the chain puts before it."""
    latest: RefCall | None = None
    told: set[int] = set()
    for group in life.groups():
        for call in group:
            if latest is None or call.ended is None or call.ended >= latest.invoked:
                continue
            if latest.id not in told:
                told.add(latest.id)
                yield _misordered(latest, call)
        for call in group:
            if latest is None or call.invoked > latest.invoked:
                latest = call


def _misordered(early: RefCall, late: RefCall) -> Anomaly:
    """``early`` comes first in the chain, and yet began after ``late`` had ended."""
    stale = early.action is RefAction.GET or early.outcome is Outcome.FAILED
    gap = show_span(early.invoked - (late.ended or 0))
    return ref_anomaly(
        AnomalyKind.STALE_READ if stale else AnomalyKind.ORDER_VIOLATION,
        f"By what they met, T{early.id} comes before T{late.id}, but T{late.id} was answered "
        f"{gap} before T{early.id} was sent.",
        early,
        late,
    )


def _between(found: Lives) -> Iterator[Anomaly]:
    """Report lives that overlap, and absence seen while the ref must have been there."""
    zones = [_zone(life) for life in found.lives]
    points = [zone for zone in zones if zone.since >= zone.until]
    spans = sorted((zone for zone in zones if zone.since < zone.until), key=lambda zone: zone.since)
    for zone, following in pairwise(spans):
        if following.since < zone.until:
            yield ref_anomaly(
                AnomalyKind.LOST_UPDATE,
                f"T{following.early.id} belongs to another life of the ref than T{zone.early.id} "
                f"and T{zone.late.id}, and the one was not over when the other was there.",
                zone.early,
                zone.late,
                following.early,
            )
            return
    starts = [zone.since for zone in spans]
    for call in found.absences:
        ended = inf if call.ended is None else call.ended
        points.append(_Zone(ended, call.invoked, call, call))
    for point in points:
        location = bisect_left(starts, point.until) - 1
        if location >= 0 and point.since < spans[location].until:
            around = spans[location]
            yield ref_anomaly(
                AnomalyKind.STALE_READ,
                f"T{point.early.id} fits only while the ref was as T{around.early.id} and "
                f"T{around.late.id} met it, which it contradicts.",
                point.early,
                around.early,
                around.late,
            )


def _zone(life: Life) -> _Zone:
    calls = [call for group in life.groups() for call in group]
    early = min(calls, key=_ended)
    late = max(calls, key=lambda call: call.invoked)
    until: float = late.invoked
    if life.perhaps_ended is not None:
        until = max(until, life.perhaps_ended)
    elif life.end is None:
        until = inf
    return _Zone(_ended(early), until, early, late)


def _ended(call: RefCall) -> float:
    return inf if call.ended is None else call.ended
