"""The layout of a row address: the number of the fragment, then the offset in it, 32 bits each."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["ADDRESS", "Addresses", "address_of", "fragment_of", "offset_of"]

ADDRESS: Final = "_rowaddr"
Addresses: TypeAlias = npt.NDArray[np.uint64]

_FRAGMENT_SHIFT: Final = np.uint64(32)
_OFFSET_MASK: Final = np.uint64(0xFFFFFFFF)


def address_of(fragment: int, offsets: Addresses) -> Addresses:
    """Return the addresses of rows of one fragment."""
    return offsets | (np.uint64(fragment) << _FRAGMENT_SHIFT)


def fragment_of(addresses: Addresses) -> Addresses:
    """Return the number of the fragment of each address."""
    return addresses >> _FRAGMENT_SHIFT


def offset_of(addresses: Addresses) -> Addresses:
    """Return the offset of each address in its fragment."""
    return addresses & _OFFSET_MASK
