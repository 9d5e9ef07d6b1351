"""A read-only web page of a repository: served on this machine, or as one file."""

from omnigraph_l2._explore.json_api import JsonApi
from omnigraph_l2._explore.page_server import Server, serve
from omnigraph_l2._explore.single_file_page import page, write_page

__all__ = ["JsonApi", "Server", "page", "serve", "write_page"]
