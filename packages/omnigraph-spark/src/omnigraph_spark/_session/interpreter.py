"""The Python that Spark's workers will run.

Always: where nobody chose one it is that of this process. One that was chosen is asked for its
version only where it can run here: on a cluster the path is one of the other machines.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping

from omnigraph_spark.errors import InterpreterMismatch

__all__ = ["check_interpreter", "chosen_interpreter"]

_SECONDS = 60
_ASK = "import sys; print('{}.{}'.format(*sys.version_info[:2]))"
_SETTINGS = ("spark.pyspark.python",)
_VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")


def chosen_interpreter(
    config: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[str, str] | None:
    """Tell what chose an interpreter for the workers, and which."""
    for name, where in ((_SETTINGS[0], config), (_VARIABLES[0], environment)):
        if where.get(name):
            return name, where[name]
    return None


def check_interpreter(setting: str, interpreter: str) -> None:
    """Raise ``InterpreterMismatch`` unless it runs, and is the same Python as this."""
    needed = "{}.{}".format(*sys.version_info[:2])
    path = shutil.which(interpreter)
    found = "not there" if path is None else _asked(path)
    if found != f"Python {needed}":
        raise InterpreterMismatch(
            interpreter=interpreter, setting=setting, found=found, needed=needed
        )


def _asked(path: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - it is what Spark is about to run
            [path, "-c", _ASK], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"a program that does not run: {error}"
    return f"Python {done.stdout.strip()}" if done.returncode == 0 else "no Python"
