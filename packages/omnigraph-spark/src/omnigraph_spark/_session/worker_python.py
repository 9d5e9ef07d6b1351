"""Find and check the Python that Spark's workers will run.

By default it is that of this process. A configured one is run to find its version only in local
mode: on a cluster, the path is one of other machines.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping

from omnigraph_spark.errors import InterpreterMismatch

__all__ = ["check_interpreter", "find_interpreter_setting"]

_SECONDS = 60
_ASK = "import sys; print('{}.{}'.format(*sys.version_info[:2]))"
_SETTINGS = ("spark.pyspark.python",)
_VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")


def find_interpreter_setting(
    config: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return the setting that names an interpreter for workers, and its value."""
    for name, where in ((_SETTINGS[0], config), (_VARIABLES[0], environment)):
        if where.get(name):
            return name, where[name]
    return None


def check_interpreter(setting: str, interpreter: str) -> None:
    """Raise ``InterpreterMismatch`` unless it runs and is the same version as this."""
    needed = "{}.{}".format(*sys.version_info[:2])
    path = shutil.which(interpreter)
    found = "not there" if path is None else _run_interpreter(path)
    if found != f"Python {needed}":
        raise InterpreterMismatch(
            interpreter=interpreter, setting=setting, found=found, needed=needed
        )


def _run_interpreter(path: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - it is what Spark is about to run
            [path, "-c", _ASK], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"a program that does not run: {error}"
    return f"Python {done.stdout.strip()}" if done.returncode == 0 else "no Python"
