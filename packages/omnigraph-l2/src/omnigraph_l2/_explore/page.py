"""The page as one HTML file, that can be kept, mailed and opened anywhere: it asks nobody."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from omnigraph_l2 import Repository
from omnigraph_l2._explore.answers import Answers
from omnigraph_l2._explore.assets import one_file
from omnigraph_l2._explore.recording import Recording
from omnigraph_l2.errors import InvalidRequest

__all__ = ["page", "write_page"]

_COMMITS: Final = 100
_ROWS: Final = 50
_MOST: Final = 500
_BEGINNING: Final = b"<!doctype html>"


def page(repo: Repository, *, commits: int = _COMMITS, rows: int = _ROWS) -> str:
    """Give the page with the newest commits, and the first rows of each table, in it."""
    for name, number in (("commits", commits), ("rows", rows)):
        if not 1 <= number <= _MOST:
            reason = f"it has 1 to {_MOST} {name}, found {number}"
            raise InvalidRequest(what="This page", reason=reason)
    made = datetime.now(timezone.utc)
    return one_file(Recording(Answers(repo)).everything(made, commits=commits, rows=rows))


def write_page(
    repo: Repository, place: str | os.PathLike[str], *, commits: int = _COMMITS, rows: int = _ROWS
) -> Path:
    """Write the page to a file; a page that was there is replaced when the new one is whole."""
    path = Path(place)
    _check_free(path)
    told = page(repo, commits=commits, rows=rows)
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        try:
            aside.write_text(told, encoding="utf-8")
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error.strerror) from error
    return path


def _check_free(path: Path) -> None:
    """Refuse to replace what is no page: other files, folders, devices."""
    try:
        if os.path.lexists(path) and not (path.is_file() and _is_page(path)):
            raise _unwritable(path, "something else is there")
    except OSError as error:
        raise _unwritable(path, error.strerror) from error


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)).lower() == _BEGINNING


def _unwritable(path: Path, why: str | None) -> InvalidRequest:
    reason = f"{path} cannot be written ({why}); choose another file"
    return InvalidRequest(what="Writing the page", reason=reason)
