"""Prints the story: chapters, why, the call that does it, what was seen.

Always: colours only on a terminal, and not where NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping
from typing import Any

_WIDTH = 88
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "blue": "34", "cyan": "36"}
_begun: list[float] = []


def styled(text: str, *styles: str) -> str:
    """Give a text its colours, where somebody looks."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb":
        return text
    return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"


def chapter(title: str, why: str) -> None:
    """Begin a chapter: what is done, and why."""
    _begun.append(time.perf_counter())
    head = f"{len(_begun)} · {title}"
    print(f"\n{styled(head, 'bold', 'blue')}")
    for line in textwrap.wrap(why, _WIDTH - 2):
        print(f"  {styled(line, 'dim')}")


def code(text: str) -> None:
    """Show the calls that do it."""
    for line in textwrap.dedent(text).strip().splitlines():
        print(f"    {styled(line, 'cyan')}")


def seen(text: str, good: bool = True) -> None:  # noqa: FBT001, FBT002  # read as words
    """Say what came of it: as it should be, or refused."""
    mark = styled("✓", "green") if good else styled("✗", "red")
    first, *others = textwrap.wrap(text, _WIDTH - 4)
    print(f"  {mark} {first}")
    for line in others:
        print(f"    {line}")


def refused(error: Any) -> None:
    """Show an error: its class, and its own words."""
    seen(f"{type(error).__name__}: {error}", good=False)


def table(rows: Iterable[Mapping[str, Any]]) -> None:
    """Show rows in columns; numbers stand to the right."""
    shown = [{name: _shown(value) for name, value in row.items()} for row in rows]
    widths = {name: max(len(name), *(len(row[name]) for row in shown)) for name in shown[0]}
    head = "  ".join(name.ljust(width) for name, width in widths.items())
    print(f"      {styled(head.rstrip(), 'dim')}")
    for row in shown:
        print("      " + "  ".join(_aligned(row[name], widths[name]) for name in widths).rstrip())


def plain(text: str = "") -> None:
    """Say something outside of a chapter."""
    print(text)


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "·" if value is None else str(value)


def _aligned(text: str, width: int) -> str:
    return text.rjust(width) if text.replace(",", "").isdigit() else text.ljust(width)
