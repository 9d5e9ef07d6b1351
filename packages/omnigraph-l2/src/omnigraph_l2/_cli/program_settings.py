"""The settings of a command: options take precedence over the environment, and that over a file.

Invariant: the origin of each setting is known; the value of a storage option is never shown.
The file is the one that ``--config`` or ``OMNIGRAPH_CONFIG`` names, otherwise the nearest
``omnigraph.toml`` from the current folder upwards.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import Factory, frozen

from omnigraph_l2._cli.exit_status import UsageError

__all__ = ["FILE_NAME", "Settings", "resolve_settings"]

FILE_NAME = "omnigraph.toml"
_TEXTS = ("repo", "actor", "durability")
_FILE = "OMNIGRAPH_CONFIG"


@frozen(kw_only=True)
class Settings:
    """The settings of a command, and the origin of each."""

    repo: str | None = None
    actor: str | None = None
    durability: str | None = None
    storage: Mapping[str, str] = Factory(dict)
    file: Path | None = None
    origins: Mapping[str, str] = Factory(dict)
    """By the name of a setting: ``option``, the environment variable, or the file."""

    @property
    def location(self) -> str:
        """The location of the repository, or an error that says how to set it."""
        if self.repo:
            return self.repo
        message = (
            "No repository: use --repo LOCATION, set OMNIGRAPH_REPO, or write "
            f'repo = "LOCATION" in {FILE_NAME}'
        )
        raise UsageError(message)


def resolve_settings(
    options: Mapping[str, str | None],
    storage: tuple[str, ...],
    config: Path | None,
    environ: Mapping[str, str],
    folder: Path,
) -> Settings:
    """Resolve the settings from the options, the environment and the file."""
    file = _file(config, environ, folder)
    written = {} if file is None else _read(file)
    found: dict[str, str] = {}
    origins: dict[str, str] = {}
    for name in _TEXTS:
        variable = f"OMNIGRAPH_{name.upper()}"
        for value, origin in (
            (options.get(name), "option"),
            (environ.get(variable) or None, variable),
            (written.get(name), str(file)),
        ):
            if value is not None:
                found[name], origins[name] = value, origin
                break
    if file is not None and origins.get("repo") == str(file):
        found["repo"] = _resolve_path(file, found["repo"])
    storage_options: dict[str, str] = {}
    pairs = [_pair(each) for each in storage]
    for source, origin in ((written.get("storage", {}), str(file)), (dict(pairs), "option")):
        storage_options |= source
        origins |= {f"storage.{key}": origin for key in source}
    return Settings(**found, storage=storage_options, file=file, origins=origins)


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
        message = f"Cannot read {file}: {error.strerror}"
        raise UsageError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"Invalid TOML in {file}: {error}"
        raise UsageError(message) from error
    problems = [f"unknown setting {name!r}" for name in written if name not in {*_TEXTS, "storage"}]
    problems += [
        f"{name} must be a string"
        for name in _TEXTS
        if name in written and not isinstance(written[name], str)
    ]
    storage = written.get("storage", {})
    if not isinstance(storage, dict) or not all(isinstance(each, str) for each in storage.values()):
        problems.append("storage must be a table of strings")
    if problems:
        known = ", ".join((*_TEXTS, "[storage]"))
        message = f"Invalid settings in {file}: {'; '.join(problems)}. Known settings: {known}"
        raise UsageError(message)
    return written


def _resolve_path(file: Path, repo: str) -> str:
    """Resolve a folder that the file names, relative to the file."""
    if "://" in repo or Path(repo).is_absolute():
        return repo
    return str(file.parent / repo)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        message = "Invalid --storage: expected KEY=VALUE (not shown: it may be a secret)"
        raise UsageError(message)
    return key, value
