"""The states that a power cut could leave, derived from a recorded trace."""

from campaign.power_cuts.disk_models import EXT4_LIKE_DISK, STRICT_DISK, DiskModel
from campaign.power_cuts.operation_trace import PowerCuts, Trace
from campaign.power_cuts.power_cut import PowerCut

__all__ = ["EXT4_LIKE_DISK", "STRICT_DISK", "DiskModel", "PowerCut", "PowerCuts", "Trace"]
