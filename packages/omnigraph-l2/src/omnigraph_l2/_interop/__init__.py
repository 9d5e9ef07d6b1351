"""Tables and graphs for the tools that people use."""

from omnigraph_l2._interop.elements import Elements, elements
from omnigraph_l2._interop.view_names import view_names

__all__ = ["Elements", "elements", "view_names"]
