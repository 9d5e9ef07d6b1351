"""What was given for a session.

Always: anything that is none is told before it is used. Sessions of Spark itself and of Spark
Connect have no class in common, so they are known by what they can do.
"""

from __future__ import annotations

from omnigraph_spark.errors import NotASession

__all__ = ["check_session"]


def check_session(given: object) -> None:
    """Raise ``NotASession`` unless it is one."""
    if not hasattr(given, "createDataFrame") or isinstance(given, type):
        raise NotASession(found=f"{type(given).__name__}: {given!r}"[:200])
