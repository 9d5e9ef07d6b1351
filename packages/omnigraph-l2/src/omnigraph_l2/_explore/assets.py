"""The files of the page: what a browser asks for by name, and all of them in one.

Always: only names that are listed here are files; nothing is looked up by what somebody asked.
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

__all__ = ["INDEX", "Asset", "assets", "one_file"]

INDEX: Final = "index.html"
_STYLE: Final = "style.css"
# Each comes after those that it imports.
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
    """A file, as it is sent."""

    kind: str
    content: bytes


def assets() -> dict[str, Asset]:
    """Read all files, by name."""
    return {name: _asset(name) for name in (INDEX, _STYLE, *_SCRIPTS)}


def one_file(data: Mapping[str, Any]) -> str:
    """Put everything into one HTML file, with data in it.

    Nothing in the data can become a part of the page: no ``<`` of it stays one.
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
    told = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    page = _text(INDEX)
    for mark, text in {
        "<!-- policy -->": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<link rel="stylesheet" href="style.css">': f"<style>{style}</style>",
        '<script type="module" src="app.js"></script>': (
            f'<script type="application/json" id="embedded">{told}</script>\n'
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
    """Make a module a function of one script, that gives what the module exports."""
    module = _text(name)
    exported = ", ".join(found[1] for found in _EXPORT.findall(module))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r'const \1 = modules["\2"];', module))
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n'


def _hash_of(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
