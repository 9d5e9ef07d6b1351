"""Small JSON documents by name, each changed atomically, on any kind of store."""
