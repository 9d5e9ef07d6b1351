"""The layers of this package, lowest first; ``checks/test_layers.py`` proves them.

Each tier lists folders and modules that lie directly below the package. One imports from lower
tiers only: neither from a higher tier nor from another name of its own tier.
"""

from typing import Final

__all__ = ["LAYERS"]

LAYERS: Final[tuple[tuple[str, ...], ...]] = (
    ("_errors",),  # the error classes, one module for each thing that a handler does
    ("errors",),  # their public name
    ("_model",),  # frozen values that all layers share, checks of arguments; no I/O
    ("_catalog",),  # pure: rows of ``__manifest`` to state, plans of a publish
    ("_store",),  # what lies on disk: root, manifest, commit log, refs, run registry; no policy
    ("_rows",),  # casts, id sets, spilling, comparison of two versions of a table
    ("_commit",),  # branch session, publisher, writer queue, leases, integrity rules
    ("_branch",),  # revisions, snapshots, graph diff, change feed
    ("_transaction",),  # pending tables and staged writes
    ("_evolve", "_merge"),  # schema change; three-way merge and revert
    ("_runs", "_maintenance"),  # runs; cleanup, optimize, verify, repair
    ("_api",),  # the objects that users hold
    ("reports", "schema_changes"),  # public names that are rarely needed
    ("interop",),  # DuckDB, networkx, Lance namespaces
    ("namespace",),  # the public name of the Lance namespace
    ("_explore",),  # the page of ``omnigraph explore``; uses public names only
    ("_cli",),  # the command line; uses public names only
)
