"""A repository as a catalog of Lance's namespaces: how things are named, told and refused."""

from omnigraph_l2._namespace.moments import Moment, listed_namespaces, named_moment, named_table
from omnigraph_l2._namespace.refusing import apart
from omnigraph_l2._namespace.requests import as_model, page
from omnigraph_l2._namespace.versions import Lineage, lineage_of, published_versions
from omnigraph_l2._namespace.writing import (
    REFUSED,
    deleting,
    inserting,
    merging,
    refuse,
    refuse_moment,
)

__all__ = [
    "REFUSED",
    "Lineage",
    "Moment",
    "apart",
    "as_model",
    "deleting",
    "inserting",
    "lineage_of",
    "listed_namespaces",
    "merging",
    "named_moment",
    "named_table",
    "page",
    "published_versions",
    "refuse",
    "refuse_moment",
]
