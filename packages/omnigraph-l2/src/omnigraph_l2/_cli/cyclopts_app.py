"""The application object of cyclopts: every command, by group.

A new command is a function in ``commands`` that is listed here.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Literal

from cyclopts import App, Group

from omnigraph_l2._cli.commands.branch_commands import branch, merge, runs, tag
from omnigraph_l2._cli.commands.history_commands import diff, log, revert
from omnigraph_l2._cli.commands.read_commands import cat, explore, info, schema, tables
from omnigraph_l2._cli.commands.upkeep_commands import cleanup, migrate, optimize, repair, verify
from omnigraph_l2._cli.commands.write_commands import evolve, init, load
from omnigraph_l2._cli.common_options import COMMAND_DEFAULTS

__all__ = ["app"]

_BEGIN = Group("Create and load", sort_key=0)
_LOOK = Group("Read", sort_key=1)
_CHANGE = Group("Change", sort_key=2)
_KEEP = Group("Maintain", sort_key=3)
_MORE = Group("More", sort_key=9)

app = App(
    name="omnigraph",
    help="Transactional graph storage on open files: read, change and maintain a graph.",
    help_epilogue=(
        "A table is named as node:Person or edge:Knows. Settings are read from options, then from "
        "OMNIGRAPH_REPO and OMNIGRAPH_ACTOR, then from omnigraph.toml. Exit status: 0 success, "
        "1 failure, 2 invalid usage, 3 differences, 4 conflict or lost race, 5 damage."
    ),
    version=lambda: version("omnigraph-l2"),
    group_commands=_MORE,
    default_parameter=COMMAND_DEFAULTS,
    suppress_keyboard_interrupt=False,
    help_format="plaintext",
)
app.register_install_completion_command(help="Install completion for the current shell.")


@app.command(name="--show-completion", group=_MORE, help_epilogue="")
def show_completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print completion for a shell.

    Parameters
    ----------
    shell
        The shell.
    """
    sys.stdout.write(app.generate_completion(shell=shell))
    return 0


_COMMANDS = {
    _BEGIN: (init, load),
    _LOOK: (info, tables, cat, schema, log, diff, explore),
    _CHANGE: (branch, merge, revert, tag, evolve, runs),
    _KEEP: (optimize, cleanup, verify, repair, migrate),
}

for group, commands in _COMMANDS.items():
    for command in commands:
        if isinstance(command, App):
            command.group = group
            app.command(command)
        else:
            app.command(command, group=group, help_epilogue="")
