"""What a handle has in memory of the catalog is what a fresh one reads, whatever was done to it.

The state that is compared has more in it than the public API shows: what a publish is planned on.
"""

from __future__ import annotations

import tempfile
from typing import Any

import attrs
import pytest
from catalog_histories import History, histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import sized

from omnigraph_l1 import Durability, Storage
from omnigraph_l2._catalog.manifest_pruning import find_superseded
from omnigraph_l2._catalog.manifest_rows import MANIFEST_SCHEMA, ManifestRow, rows_to_arrow
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.manifest_store import (
    Loaded,
    ManifestStore,
    follow,
    follow_compaction,
    load,
    read_rows,
)
from omnigraph_l2._store.migrations import stamp_schema
from omnigraph_l2._store.repository_root import RepositoryRoot

BY = st.sampled_from(["us", "us", "others"])
UPKEEP = st.sampled_from(["nothing", "nothing", "compact", "compact", "prune"])


class Location:
    """A catalog, a handle that has followed it all the time, and others who write to it."""

    def __init__(self, directory: str) -> None:
        self.root = RepositoryRoot(Storage.resolve(directory), Durability.NONE)
        self.root.create(MANIFEST, stamp_schema(MANIFEST_SCHEMA))
        self.catalog = ManifestStore(self.root, None)
        self.catalog.refresh()

    def fresh(self) -> Loaded:
        """Read all of it as somebody does who has seen nothing of it."""
        return load(self.root.without_caches().open(MANIFEST), self.root.location)

    def check(self) -> None:
        """Compare the memory with that, with all that it is made of."""
        ours, theirs = self.catalog.refresh(), self.fresh()
        assert ours.table.version == theirs.table.version
        assert ours.fragments == theirs.fragments
        # Who has seen another publisher knows of it, also when the row was written anew.
        assert ours.state.foreign_version >= theirs.state.foreign_version
        known = attrs.evolve(ours.state, foreign_version=theirs.state.foreign_version)
        assert known == theirs.state
        for key, registration in theirs.state.registrations.items():
            assert ours.state.registrations[key].seen_at == registration.seen_at
        assert ours.state.is_foreign == theirs.state.is_foreign

    def write(self, rows: list[ManifestRow], by: str) -> None:
        """Write as a publisher does: of us, or of somebody else."""
        loaded = self.catalog.refresh()
        came = {row.object_id: row.created_at_version for row in read_rows(loaded.table)}
        version = loaded.table.version + 1
        stamped_rows = [
            attrs.evolve(
                row,
                created_at_version=came.get(row.object_id, version),
                updated_at_version=version,
            )
            for row in rows
        ]
        if by == "us":
            self.catalog.compare_and_set(loaded, stamped_rows, write_id=f"write {version}")
        else:
            theirs = self.root.without_caches().open(MANIFEST)
            theirs.cas_merge(rows_to_arrow(rows), key="object_id", write_id=f"write {version}")

    def keep_up(self, what: str, by: str) -> None:
        """Compact, or drop what is superseded."""
        loaded = self.catalog.refresh() if by == "us" else self.fresh()
        if what == "compact":
            done = loaded.table.compact(target_rows=4_096, drop_deleted=False)
            made = follow_compaction(loaded, done)
        else:
            logged = {each.commit_id for each in loaded.state.publishes}
            rows = read_rows(loaded.table)
            gone = list(find_superseded(rows, loaded.state, logged=logged, keep_publishes=1))
            table = loaded.table.delete_keys("object_id", gone).table if gone else loaded.table
            made = follow(loaded, table.compact().table)
        if by == "us":
            self.catalog.moved_to(made)


@settings(max_examples=sized(8, 25), deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories().filter(lambda drawn: drawn.branch is None), data=st.data())
@pytest.mark.integration
def test_any_history(history: History, data: Any) -> None:
    """Writes and upkeep, one's own and of others, in any order."""
    with tempfile.TemporaryDirectory() as directory:
        location = Location(directory)
        for rows in history.writes:
            location.write(rows, data.draw(BY))
            location.check()
            what = data.draw(UPKEEP)
            if what != "nothing":
                location.keep_up(what, data.draw(BY))
                location.check()
