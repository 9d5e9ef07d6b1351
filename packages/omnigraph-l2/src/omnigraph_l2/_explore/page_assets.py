"""The files of the page, by name or combined in one HTML file.

Invariant: only the names listed here are files; a requested name is never used as a path.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import attrs

__all__ = ["INDEX", "Asset", "build_single_file", "read_assets"]

INDEX: Final = "index.html"
_STYLE: Final = "style.css"
# Each module after those that it imports.
_SCRIPTS: Final = (
    "dom.js",
    "words.js",
    "source.js",
    "state.js",
    "graph.js",
    "history.js",
    "cells.js",
    "changes.js",
    "tables.js",
    "rows.js",
    "picture.js",
    "schema.js",
    "verify.js",
    "moment.js",
    "app.js",
)
_KINDS: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_IMPORT: Final = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


@attrs.frozen
class Asset:
    """A file as it is sent."""

    kind: str
    content: bytes


def read_assets() -> dict[str, Asset]:
    """Read all files, by name."""
    return {name: _asset(name) for name in (INDEX, _STYLE, *_SCRIPTS)}


def build_single_file(data: Mapping[str, Any]) -> str:
    """Return one HTML file with all files and the data in it.

    The data cannot become markup, because every ``<`` in it is escaped.
    """
    script = "const modules = {};\n" + "\n".join(map(_as_function, _SCRIPTS))
    style = _text(_STYLE)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash_of(script)}",
            f"style-src {_hash_of(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    embedded = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    page = _text(INDEX)
    for mark, text in {
        "<!-- policy -->": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<link rel="stylesheet" href="style.css">': f"<style>{style}</style>",
        '<script type="module" src="app.js"></script>': (
            f'<script type="application/json" id="embedded">{embedded}</script>\n'
            f'<script type="module">{script}</script>'
        ),
    }.items():
        before, _, after = page.partition(mark)
        page = before + text + after
    return page


def _asset(name: str) -> Asset:
    return Asset(_KINDS[name.rpartition(".")[2]], _text(name).encode())


def _text(name: str) -> str:
    return (files(__package__) / "static" / name).read_text("utf-8")


def _as_function(name: str) -> str:
    """Convert a module to a function of one script that returns the exports of the module."""
    module = _text(name)
    exported = ", ".join(found[1] for found in _EXPORT.findall(module))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r'const \1 = modules["\2"];', module))
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n'


def _hash_of(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
