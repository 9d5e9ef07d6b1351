"""The program, put together from its commands.

One more command is one more module in ``commands``, named here.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Literal

from cyclopts import App, Group

from omnigraph_l2._cli.commands import (
    branching,
    creating,
    exploring,
    history,
    loading,
    reading,
    upkeep,
)
from omnigraph_l2._cli.options import SAID

__all__ = ["app"]

_BEGIN = Group("Begin", sort_key=0)
_LOOK = Group("Look", sort_key=1)
_CHANGE = Group("Change", sort_key=2)
_KEEP = Group("Keep in order", sort_key=3)
_MORE = Group("More", sort_key=9)

app = App(
    name="omnigraph",
    help="Transactional graph storage on open files: look at a graph, change it, keep it in order.",
    help_epilogue=(
        "A table is named as node:Person or edge:Knows. Settings come from options, OMNIGRAPH_REPO "
        "and OMNIGRAPH_ACTOR, and omnigraph.toml, in this order. Exit status: 0 done, 1 failed, "
        "2 wrong usage, 3 differences, 4 conflict or lost race, 5 damage."
    ),
    version=lambda: version("omnigraph-l2"),
    group_commands=_MORE,
    default_parameter=SAID,
    suppress_keyboard_interrupt=False,
    help_format="plaintext",
)
app.register_install_completion_command(help="Install completion for the shell that is used.")


@app.command(name="--show-completion", group=_MORE, help_epilogue="")
def show_completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print completion for a shell.

    Parameters
    ----------
    shell
        Whose.
    """
    sys.stdout.write(app.generate_completion(shell=shell))
    return 0


_COMMANDS = {
    _BEGIN: (creating.init, loading.load),
    _LOOK: (
        reading.info, reading.tables, reading.cat, reading.schema, history.log, history.diff,
        exploring.explore,
    ),
    _CHANGE: (
        branching.branch, branching.merge, history.revert, branching.tag, creating.evolve,
        branching.runs,
    ),
    _KEEP: (upkeep.optimize, upkeep.cleanup, upkeep.verify, upkeep.repair, upkeep.migrate),
}  # fmt: skip

for group, commands in _COMMANDS.items():
    for command in commands:
        if isinstance(command, App):
            command.group = group
            app.command(command)
        else:
            app.command(command, group=group, help_epilogue="")
