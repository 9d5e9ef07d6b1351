"""The page of ``omnigraph explore`` in this process.

The command serves in a process of its own until Ctrl-C; ``test_explore_process`` runs it. Tests of
the answers, the server and the file get them from here: no other module of this folder imports
private modules, except tests of pure parts and of limits that they lower.
"""

from __future__ import annotations

from omnigraph_l2._explore.json_api import JsonApi
from omnigraph_l2._explore.page_server import Server, serve
from omnigraph_l2._explore.single_file_page import AnswerRecording, page, write_page

__all__ = ["AnswerRecording", "JsonApi", "Server", "page", "serve", "write_page"]
