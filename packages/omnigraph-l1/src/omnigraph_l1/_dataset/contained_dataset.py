"""Refuse a dataset on local disk whose files or folders lead out of it.

Invariant: what a version names is below the location from which the dataset is opened, and so are
the folders in which Lance writes and removes files.
"""

from __future__ import annotations

from lance import LanceDataset

from omnigraph_l1._lance.lance_failures import translate_errors
from omnigraph_l1._lance.private_hooks import file_name
from omnigraph_l1._lance.version_files import VERSIONS, NamingScheme, format_name
from omnigraph_l1._storage.contained_paths import check_directories, check_files, check_tree
from omnigraph_l1._storage.location import Location, Storage
from omnigraph_l1._storage.stored_objects import translate_os_errors
from omnigraph_l1.errors import MovedDataset

__all__ = ["check_folders", "check_indexes", "check_named_files", "refuse_moved"]

_FOLDERS = ("_versions", "_transactions", "data", "_deletions", "_indices")
_REFS = ("_refs/branches", "_refs/tags")


def check_folders(storage: Storage, branch: str | None) -> None:
    """Raise ``UnsafePath`` if a folder that Lance uses for a lineage is not a real one."""
    if not storage.location.is_local:
        return
    top, below = storage.contained_in
    main = f"{below}/" if below else ""
    names = [main + each for each in (*_FOLDERS, *_REFS)]
    if branch is not None:
        names += [f"{main}tree/{branch}/{each}" for each in _FOLDERS]
    with translate_os_errors(storage.location):
        check_directories(top, names)


def check_named_files(storage: Storage, branch: str | None, dataset: LanceDataset) -> None:
    """Raise ``UnsafePath`` if what a version names is not a file of the dataset.

    A dataset by itself may be a shallow clone of another one; one of a repository may not.
    """
    location = storage.location
    if storage.is_child:
        refuse_moved(dataset, location)
    if not location.is_local:
        return
    root = location.local_path
    own = str(root if branch is None else root / "tree" / branch)
    bases: dict[int | None, str] = {None: own}
    for number, base in dataset.base_paths().items():
        bases[number] = str(Location.parse(base.path).local_path)
    names = [f"{own}/{VERSIONS}/{format_name(dataset.version, each)}" for each in NamingScheme]
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        names += [f"{bases[file.base_id]}/data/{file_name(file)}" for file in metadata.files]
        deletions = metadata.deletion_file
        if deletions is not None:
            names.append(f"{bases[deletions.base_id]}/{deletions.path(fragment.fragment_id)}")
    with translate_os_errors(location):
        check_files(names)


def check_indexes(storage: Storage, branch: str | None, dataset: LanceDataset) -> None:
    """Raise ``UnsafePath`` if a file of an index is not a file of the dataset."""
    location = storage.location
    if not location.is_local:
        return
    root = location.local_path
    own = root if branch is None else root / "tree" / branch
    with translate_errors(location):
        parts = [part for one in dataset.describe_indices() for part in one.segments]
    with translate_os_errors(location):
        for part in parts:
            if part.base_id is not None:
                continue  # it was checked where it was made: on the lineage of that base
            check_directories(own, [f"_indices/{part.uuid}"])
            check_tree(own / "_indices" / str(part.uuid))


def refuse_moved(dataset: LanceDataset, location: Location) -> None:
    """Raise ``MovedDataset`` if the dataset refers to files of another location."""
    for base in dataset.base_paths().values():
        recorded = Location.parse(base.path)
        inside = recorded.key == location.key or recorded.key.startswith(f"{location.key}/")
        if not inside or (recorded.scheme, recorded.bucket) != (location.scheme, location.bucket):
            raise MovedDataset(location=str(location), recorded=str(recorded))
