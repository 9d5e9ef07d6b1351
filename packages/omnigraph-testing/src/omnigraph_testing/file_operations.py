"""The operations that a recorded trace consists of, for tests that look into one.

Each is a frozen value whose ``path`` is for people; ``kind_of`` names it as
``AtFileOperation`` does.
"""

from omnigraph_testing._disk._operations import (
    Create,
    Exchange,
    Link,
    Mark,
    Mkdir,
    Operation,
    Passed,
    Rename,
    Symlink,
    Sync,
    SyncAll,
    Truncate,
    Unlink,
    Write,
    kind_of,
)

__all__ = [
    "Create",
    "Exchange",
    "Link",
    "Mark",
    "Mkdir",
    "Operation",
    "Passed",
    "Rename",
    "Symlink",
    "Sync",
    "SyncAll",
    "Truncate",
    "Unlink",
    "Write",
    "kind_of",
]
