"""A standalone cluster of Spark: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue

import pyspark

__all__ = ["Submitted", "standalone", "submitted"]

Submitted = subprocess.CompletedProcess[str]
_HOME = Path(pyspark.__file__).parent
_LOCAL = "127.0.0.1"
_HOSTS = (_LOCAL, "127.0.0.2")
"""Spark runs no second attempt of a task on the host of the first one."""
_DEADLINE = 120.0
_WHILE_WATCHED = '"$@" & child=$!; cat > /dev/null; kill $child; wait $child'
"""Runs a program as long as whoever started it holds on to its standard input."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": _LOCAL,
}


@contextmanager
def standalone(location: Path) -> Iterator[str]:
    """Start one; give its master."""
    with ExitStack() as running:
        listening = ["--host", _LOCAL, "--port", "0", "--webui-port", "0"]
        master = running.enter_context(
            _started("master.Master", *listening, until=r"Starting Spark master at (\S+)")
        )
        for host in _HOSTS:
            small = ["--webui-port", "0", "--cores", "1", "--memory", "1g", "--host", host]
            folder = ["--work-dir", str(location / host)]
            running.enter_context(
                _started("worker.Worker", *small, *folder, master, until="(registered with master)")
            )
        yield master


def submitted(
    master: str,
    program: str,
    *arguments: object,
    settings: Mapping[str, str] = {},
    cwd: Path | None = None,
) -> Submitted:
    """Give a program to a master with spark-submit, as a shell does."""
    told = {**_SETTINGS, **settings}
    confs = [word for pair in told.items() for word in ("--conf", "=".join(pair))]
    command = [_HOME / "bin" / "spark-submit", "--master", master, *confs, program, *arguments]
    return subprocess.run(
        [str(word) for word in command],
        env=_environment(), cwd=cwd, capture_output=True, text=True, check=False, timeout=570,
    )  # fmt: skip


def _environment() -> Mapping[str, str]:
    own = {"SPARK_HOME": str(_HOME), "SPARK_LOCAL_IP": _LOCAL, "PYSPARK_PYTHON": sys.executable}
    # Daemons read no spark-defaults.conf for the options of their own JVM.
    quick = {"SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    return {**os.environ, **own, **quick}


@contextmanager
def _started(name: str, *arguments: str, until: str) -> Iterator[str]:
    """Start a part of the cluster; give what it says when it is ready."""
    command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with subprocess.Popen(
        ["sh", "-c", _WHILE_WATCHED, "sh", *command],
        env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        said: Queue[str] = Queue()
        listening = threading.Thread(target=_listen, args=(process.stderr, until, said))
        listening.start()
        try:
            yield said.get(timeout=_DEADLINE)
        finally:
            process.stdin.close()
            listening.join()


def _listen(lines: Iterable[str], until: str, said: Queue[str]) -> None:
    for line in lines:
        found = re.search(until, line)
        if found is not None:
            said.put(found[1])
