"""Where the repository is and who works on it: options before environment before file.

Always: each setting is told with where it came from; the value of a storage option is never told.
The file is the one that ``--config`` or ``OMNIGRAPH_CONFIG`` names, else the nearest
``omnigraph.toml`` from the current folder upwards.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import Factory, frozen

from omnigraph_l2._cli.status import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["FILE_NAME", "Settings", "settled"]

FILE_NAME = "omnigraph.toml"
_TEXTS = ("repo", "actor", "durability")
_FILE = "OMNIGRAPH_CONFIG"


@frozen(kw_only=True)
class Settings:
    """What holds for a command, and where each of it came from."""

    repo: str | None = None
    actor: str | None = None
    durability: str | None = None
    storage: Mapping[str, str] = Factory(dict)
    file: Path | None = None
    origins: Mapping[str, str] = Factory(dict)
    """By the name of a setting: ``option``, the environment variable, or the file."""

    @property
    def place(self) -> str:
        """Where the repository is, or an error that says how to say it."""
        if self.repo:
            return self.repo
        message = (
            "no repository was named: say --repo PLACE, set OMNIGRAPH_REPO, or write "
            f'repo = "PLACE" into {FILE_NAME}'
        )
        raise UsageError(message)


def settled(
    given: Mapping[str, str | None],
    storage: tuple[str, ...],
    config: Path | None,
    environ: Mapping[str, str],
    folder: Path,
) -> Settings:
    """Put settings together: what was typed, the environment, the file."""
    file = _file(config, environ, folder)
    written = {} if file is None else _read(file)
    found: dict[str, str] = {}
    origins: dict[str, str] = {}
    for name in _TEXTS:
        variable = f"OMNIGRAPH_{name.upper()}"
        for value, origin in (
            (given.get(name), "option"),
            (environ.get(variable) or None, variable),
            (written.get(name), str(file)),
        ):
            if value is not None:
                found[name], origins[name] = value, origin
                break
    if file is not None and origins.get("repo") == str(file):
        found["repo"] = _beside(file, found["repo"])
    options: dict[str, str] = {}
    pairs = [_pair(each) for each in storage]
    for source, origin in ((written.get("storage", {}), str(file)), (dict(pairs), "option")):
        options |= source
        origins |= {f"storage.{key}": origin for key in source}
    return Settings(**found, storage=options, file=file, origins=origins)


def _file(config: Path | None, environ: Mapping[str, str], folder: Path) -> Path | None:
    named = config or (Path(environ[_FILE]) if environ.get(_FILE) else None)
    if named is not None:
        return named
    for each in (folder, *folder.parents):
        candidate = each / FILE_NAME
        if candidate.is_file():
            return candidate
    return None


def _read(file: Path) -> dict[str, Any]:
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        raise UsageError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{file} is no TOML: {error}"
        raise UsageError(message) from error
    problems = [f"{name!r} is no setting" for name in written if name not in {*_TEXTS, "storage"}]
    problems += [
        f"{name} should be text"
        for name in _TEXTS
        if name in written and not isinstance(written[name], str)
    ]
    storage = written.get("storage", {})
    if not isinstance(storage, dict) or not all(isinstance(each, str) for each in storage.values()):
        problems.append("storage should be a table of texts")
    if problems:
        known = ", ".join((*_TEXTS, "[storage]"))
        message = f"{file}: {'; '.join(problems)}. There are {known}"
        raise UsageError(message)
    return written


def _beside(file: Path, repo: str) -> str:
    """Take a folder that the file names as relative to the file."""
    if "://" in repo or Path(repo).is_absolute():
        return repo
    return str(file.parent / repo)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        message = "--storage is KEY=VALUE; what was found is not shown, it may be a secret"
        raise UsageError(message)
    return key, value
