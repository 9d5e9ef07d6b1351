"""The progress of a load on standard error: a bar on a terminal, otherwise a line every 10 s.

It shows the number of rows, the rate and the remaining time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from omnigraph_l2._cli.terminal_output import Output, escape

__all__ = ["Advance", "progress_text", "show_progress"]

Advance = Callable[[str, int, int], None]
"""Called with the name of what is read, and the bytes and rows read so far."""

_EVERY_SECONDS = 10.0


@contextmanager
def show_progress(
    out: Output, total: int | None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Advance]:
    """Show progress as standard error allows; yield the function that advances it."""
    start = clock()
    if out.quiet:
        yield lambda *_: None
    elif out.progress.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[text]}"),
        )
        with Progress(*columns, console=out.progress, transient=True) as bar:
            task = bar.add_task("loading", total=total, text="")

            def draw(what: str, done: int, rows: int) -> None:
                text = progress_text(done, total, rows, clock() - start)
                bar.update(task, description=escape(what), completed=done, text=text)

            yield draw
    else:
        last = start

        def print_line(what: str, done: int, rows: int) -> None:
            nonlocal last
            now = clock()
            if now - last >= _EVERY_SECONDS:
                last = now
                out.info(f"{what}: {progress_text(done, total, rows, now - start)}")

        yield print_line


def progress_text(done: int, total: int | None, rows: int, seconds: float) -> str:
    """Return the progress as text."""
    rate = rows / seconds if seconds > 0 else 0.0
    text = f"{rows:,} rows, {rate:,.0f} a second"
    if total and done and seconds > 0:
        left = seconds * (total - done) / done
        text += f", {done / total:.0%}, {_duration(left)} left"
    return text


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
