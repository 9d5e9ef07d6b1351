"""Where data is, and how to reach it: the front door of this folder."""

from omnigraph_l1._places.place import Place
from omnigraph_l1._places.storage import Storage
from omnigraph_l1._places.version_store import DynamoTable, SqliteFile

__all__ = ["DynamoTable", "Place", "SqliteFile", "Storage"]
