"""How Sphinx builds these pages: ``nox -s site``. Why Sphinx: docs/design/0012-the-site.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

project = "OmniGraph"
author = "The OmniGraph developers"
html_title = "OmniGraph for Python"
html_theme = "furo"
html_static_path: list[str] = []
html_show_copyright = False
html_show_sourcelink = False

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"

myst_heading_anchors = 4  # the anchors that the hosted pages have

autodoc_default_options = {"members": True, "imported-members": True}
autodoc_member_order = "alphabetical"
autodoc_typehints = "signature"
add_module_names = False


def _list_the_rest(app: Any, docname: str, source: list[str]) -> None:
    """Put pages that index.md does not name yet at its end, so that none is ever lost."""
    if docname != root_doc:
        return
    named = {root_doc, *re.findall(r"^[\w/-]+$", source[0], re.MULTILINE)}
    rest = sorted({page.stem for page in Path(app.srcdir).glob("*.md")} - named)
    if rest:
        listed = "\n".join(rest)
        source[0] += f"\n```{{toctree}}\n:caption: More\n:maxdepth: 1\n\n{listed}\n```\n"


def setup(app: Any) -> None:
    """Be called by Sphinx."""
    app.connect("source-read", _list_the_rest)
