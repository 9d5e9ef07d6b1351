"""Check the Java that Spark will run, before Spark starts it.

The Java is found as Spark's launcher finds it: ``JAVA_HOME`` first, then the path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from omnigraph_spark.errors import JavaUnusable

__all__ = ["MINIMUM_JAVA", "check_java", "parse_version"]

MINIMUM_JAVA = 17
_SECONDS = 60
_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')


def check_java(environment: Mapping[str, str]) -> None:
    """Raise ``JavaUnusable`` unless there is a Java that is new enough."""
    home = environment.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java", path=_path(environment))
    if java is None:
        raise JavaUnusable(found="none on the path, and no JAVA_HOME", needed=MINIMUM_JAVA)
    if shutil.which(java) is None:
        raise JavaUnusable(
            found=f"no program {java}, to which JAVA_HOME leads", needed=MINIMUM_JAVA
        )
    try:
        done = subprocess.run(  # noqa: S603 - it is what Spark is about to run
            [java, "-version"], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaUnusable(
            found=f"{java}, which does not run: {error}", needed=MINIMUM_JAVA
        ) from error
    found = parse_version(done.stderr + done.stdout)
    if done.returncode or found is None:
        raise JavaUnusable(found=f"{java}, which does not print its version", needed=MINIMUM_JAVA)
    if found < MINIMUM_JAVA:
        raise JavaUnusable(found=f"Java {found} at {java}", needed=MINIMUM_JAVA)


def parse_version(output: str) -> int | None:
    """Parse the output of ``java -version``. Java 8 and earlier call themselves 1.x."""
    found = _VERSION.search(output)
    if found is None:
        return None
    first, second = found[1], found[2]
    return int(second) if first == "1" and second else int(first)


def _path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH", os.defpath)
