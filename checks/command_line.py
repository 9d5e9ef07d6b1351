"""Generate the reference of the command line: ``python checks/command_line.py``."""

from __future__ import annotations

import re

from layout import ROOT

from omnigraph_l2._cli.cyclopts_app import app

REFERENCE = ROOT / "docs/reference/command-line.md"
_COMMON = "**For every command**:"
_HEAD = """# The commands

Generated from the program; `--help` shows the same texts. Examples are in the
[guide](../command-line.md).

"""


def reference() -> str:
    """Return the reference: all commands with their options, common options once."""
    text = app.generate_docs(heading_level=2, max_heading_level=2, flatten_commands=True)
    first = text.index("## omnigraph init")
    sections = [
        section.partition(_COMMON) for section in re.split(r"(?m)^(?=## )", text[first:]) if section
    ]
    (common,) = {found.strip() for _, mark, found in sections if mark}
    commands = "\n\n".join(own.strip() for own, _, _ in sections)
    return f"{_HEAD}## For every command\n\n{common}\n\n{commands}\n"


if __name__ == "__main__":
    REFERENCE.write_text(reference())
