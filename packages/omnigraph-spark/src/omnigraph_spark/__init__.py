"""An OmniGraph repository in Apache Spark. Its errors are in ``omnigraph_spark.errors``.

The public names are listed once, in ``_public_names.py``. They are imported on first use, and raise
``PySparkMissing`` without a supported pyspark; the errors and ``omnigraph-spark --help`` need none.
"""

import sys

if sys.platform not in {"linux", "darwin"} or sys.maxsize < 2**32 or sys.version_info < (3, 11):
    _message = "omnigraph-spark needs Linux or macOS and a 64-bit Python 3.11 or later"
    raise ImportError(_message)


from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_spark._public_names import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Import the public names when the first of them is used."""
    if name in {"errors", "jobs"}:  # before the names: the errors need no pyspark
        return import_module(f"{__name__}.{name}")
    if name == "__all__" or not name.startswith("_"):
        from omnigraph_spark import _public_names as public_names  # noqa: PLC0415

        if name == "__all__" or name in public_names.__all__:
            value: Any = getattr(public_names, name)
            globals()[name] = value
            return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    names: list[str] = __getattr__("__all__")
    return names
