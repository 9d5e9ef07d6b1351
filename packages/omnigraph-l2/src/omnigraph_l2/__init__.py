"""Transactional graph storage on open files. Its errors are in ``omnigraph_l2.errors``.

The public names are listed once, in ``_api/public_names.py``. They are imported on first use: Lance
and Arrow, which they need, take a second to import, and ``omnigraph --help`` needs neither.
"""

import sys

if sys.platform not in {"linux", "darwin"} or sys.maxsize < 2**32 or sys.version_info < (3, 11):
    _message = "omnigraph-l2 needs Linux or macOS and a 64-bit Python 3.11 or later"
    raise ImportError(_message)


from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnigraph_l2._api.public_names import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Import the public names when the first of them is used."""
    if name == "__all__" or not name.startswith("_"):
        from omnigraph_l2._api import public_names  # noqa: PLC0415

        if name == "__all__" or name in public_names.__all__:
            value: Any = getattr(public_names, name)
            globals()[name] = value
            return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    names: list[str] = __getattr__("__all__")
    return names
