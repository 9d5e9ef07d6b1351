"""A table before and after what a transaction did to it, for other processes to read."""

from __future__ import annotations

import attrs

from omnigraph_l2._branch.read_targets import ReadTarget

__all__ = ["SharedWork"]


@attrs.frozen(kw_only=True)
class SharedWork:
    """A table before and after the unpublished changes of a transaction."""

    before: ReadTarget
    after: ReadTarget
    written: tuple[int, ...]
    """The fragments of ``after`` that came: ``after.scan`` takes them."""
    added: tuple[int, ...]
    """Those of them whose rows were not there before."""
