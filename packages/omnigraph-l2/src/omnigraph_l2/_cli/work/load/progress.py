"""How far a load is, on standard error: a bar on a terminal, a line now and then elsewhere.

Always: it says how many rows there were, how many a second, and how long it may still take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from omnigraph_l2._cli.escaping import escaped
from omnigraph_l2._cli.output import Output

__all__ = ["Advance", "shown_progress", "told_progress"]

Advance = Callable[[str, int, int], None]
"""Told: what is read, the bytes read so far of all, the rows read so far of all."""

_EVERY_SECONDS = 10.0


@contextmanager
def shown_progress(
    out: Output, total: int | None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Advance]:
    """Show progress in the way that fits where standard error goes."""
    start = clock()
    if out.quiet:
        yield lambda *_: None
    elif out.progress.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[told]}"),
        )
        with Progress(*columns, console=out.progress, transient=True) as bar:
            task = bar.add_task("loading", total=total, told="")

            def drawn(what: str, done: int, rows: int) -> None:
                told = told_progress(done, total, rows, clock() - start)
                bar.update(task, description=escaped(what), completed=done, told=told)

            yield drawn
    else:
        last = start

        def lined(what: str, done: int, rows: int) -> None:
            nonlocal last
            now = clock()
            if now - last >= _EVERY_SECONDS:
                last = now
                out.tell(f"{what}: {told_progress(done, total, rows, now - start)}")

        yield lined


def told_progress(done: int, total: int | None, rows: int, seconds: float) -> str:
    """Say how far it is, in words."""
    rate = rows / seconds if seconds > 0 else 0.0
    told = f"{rows:,} rows, {rate:,.0f} a second"
    if total and done and seconds > 0:
        left = seconds * (total - done) / done
        told += f", {done / total:.0%}, {_duration(left)} left"
    return told


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
