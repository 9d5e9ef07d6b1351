"""What a file system promises about a power cut, as data.

Both models agree on what was fsynced: a file's contents after fsync of the file, a directory's
names after fsync of the directory. They differ in what may become of the rest.

How the promises are turned into states is the business of ``disk_state`` and ``power_cut``.
"""

from __future__ import annotations

import attrs

__all__ = ["EXT4_LIKE_DISK", "STRICT_DISK", "DiskModel"]


@attrs.frozen
class DiskModel:
    """What is allowed to be lost.

    ``names_in_order``: names reach the disk in the order in which they changed, so that what is
    lost is a tail; otherwise any of those not yet fsynced may be lost, whatever came after.
    ``any_sync_keeps_names``: a sync of anything also writes all names changed before it; otherwise
    only a sync of their own directory does. ``zeros``: a file may have its new length and zeros
    where its new bytes should be. ``unit``: how many bytes reach the disk together.
    """

    name: str
    names_in_order: bool = attrs.field(kw_only=True)
    any_sync_keeps_names: bool = attrs.field(kw_only=True)
    zeros: bool = attrs.field(kw_only=True)
    unit: int = attrs.field(kw_only=True)


STRICT_DISK = DiskModel(
    "strict", names_in_order=False, any_sync_keeps_names=False, zeros=True, unit=512
)
"""What POSIX leaves open: whatever was not fsynced itself may be lost, in any combination."""

EXT4_LIKE_DISK = DiskModel(
    "ext4-like", names_in_order=True, any_sync_keeps_names=True, zeros=False, unit=4096
)
"""A journal of names with ``data=ordered`` and delayed allocation, without its heuristics.

ext4 also writes out a file early when it is renamed over another one; that is a kindness to
careless programs, can be switched off by a mount option, and is not assumed here.
"""
