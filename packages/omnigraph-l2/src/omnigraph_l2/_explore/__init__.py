"""A page to look at a repository: served on this machine, or as one file."""

from omnigraph_l2._explore.page import page, write_page
from omnigraph_l2._explore.server import Server, serve

__all__ = ["Server", "page", "serve", "write_page"]
