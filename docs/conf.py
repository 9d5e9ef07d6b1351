"""How Sphinx builds these pages: ``nox -s site``. Why Sphinx: docs/design/0012-the-site.md."""

from __future__ import annotations

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

autodoc_default_options = {"members": True, "imported-members": True, "show-inheritance": True}
autodoc_member_order = "alphabetical"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
add_module_names = False
