"""Check that an argument is a Spark session.

Sessions of Spark and of Spark Connect have no common class, so they are recognised by a method.
"""

from __future__ import annotations

from omnigraph_spark.errors import NotASession

__all__ = ["check_session"]


def check_session(argument: object) -> None:
    """Raise ``NotASession`` unless the argument is one."""
    if not hasattr(argument, "createDataFrame") or isinstance(argument, type):
        raise NotASession(found=f"{type(argument).__name__}: {argument!r}"[:200])
