"""Small JSON documents by name, changed atomically: the front door of this folder."""

from omnigraph_l1._refs.document import Ref
from omnigraph_l1._refs.lock import directory_lock
from omnigraph_l1._refs.protocol import RefStore
from omnigraph_l1._refs.refs import JsonRefs

__all__ = ["JsonRefs", "Ref", "RefStore", "directory_lock"]
