"""What a handle has in memory of the catalog is what a fresh one reads, whatever was done to it."""

from __future__ import annotations

import tempfile
from typing import Any

import attrs
import pytest
from catalog_histories import History, histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_l1 import Durability, Storage
from omnigraph_l2._catalog.rows import MANIFEST_SCHEMA, ManifestRow, rows_to_arrow
from omnigraph_l2._catalog.superseding import superseded
from omnigraph_l2._manifest.catalog import Catalog, Loaded, compacted, followed, load, read_rows
from omnigraph_l2._manifest.migrations import stamped
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST

BY = st.sampled_from(["us", "us", "others"])
UPKEEP = st.sampled_from(["nothing", "nothing", "compact", "compact", "prune"])


class Place:
    """A catalog, a handle that has followed it all the time, and others who write to it."""

    def __init__(self, directory: str) -> None:
        self.root = Root(Storage.resolve(directory), Durability.NONE)
        self.root.create(MANIFEST, stamped(MANIFEST_SCHEMA))
        self.catalog = Catalog(self.root, None)
        self.catalog.refresh()

    def fresh(self) -> Loaded:
        """Read all of it as somebody does who has seen nothing of it."""
        return load(self.root.anew().open(MANIFEST), self.root.place)

    def check(self) -> None:
        """Compare the memory with that, with all that it is made of."""
        ours, theirs = self.catalog.refresh(), self.fresh()
        assert ours.table.version == theirs.table.version
        assert ours.fragments == theirs.fragments
        # Who has seen the original program publish knows of it, also when the row was written anew.
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
            self.catalog.merge(loaded, stamped_rows, write_id=f"write {version}")
        else:
            theirs = self.root.anew().open(MANIFEST)
            theirs.merge_exclusively(
                rows_to_arrow(rows), key="object_id", write_id=f"write {version}"
            )

    def keep_up(self, what: str, by: str) -> None:
        """Compact, or drop what is superseded."""
        loaded = self.catalog.refresh() if by == "us" else self.fresh()
        if what == "compact":
            done = loaded.table.compact(target_rows=4_096, drop_deleted=False)
            made = compacted(loaded, done)
        else:
            logged = {each.commit_id for each in loaded.state.publishes}
            rows = read_rows(loaded.table)
            gone = list(superseded(rows, loaded.state, logged=logged, keep_publishes=1))
            table = loaded.table.delete_keys("object_id", gone).table if gone else loaded.table
            made = followed(loaded, table.compact().table)
        if by == "us":
            self.catalog.moved_to(made)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories().filter(lambda drawn: drawn.branch is None), data=st.data())
@pytest.mark.integration
def test_any_history(history: History, data: Any) -> None:
    """Writes and upkeep, one's own and of others, in any order."""
    with tempfile.TemporaryDirectory() as directory:
        place = Place(directory)
        for rows in history.writes:
            place.write(rows, data.draw(BY))
            place.check()
            what = data.draw(UPKEEP)
            if what != "nothing":
                place.keep_up(what, data.draw(BY))
                place.check()
