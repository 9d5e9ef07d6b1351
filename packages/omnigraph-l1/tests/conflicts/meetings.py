"""Who meets whom, where, and what the rules say of it.

A meeting is of two handles that were opened at one version, and commit one after the other. All
pairs of ``EVERYWHERE`` meet, and those pairs beside that a condition of a rule needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import product
from pathlib import Path

import attrs
import lance
from lance import LanceDataset

from omnigraph_l1 import ConflictFacts, Resolution, TransactionKind, classify, conflict

from ..substrate._support import KEYED, PLAIN, append, people  # noqa: TID252
from .operations import EVERYWHERE, OPERATIONS

BADNESS = list(Resolution)


class Scene(Enum):
    """The dataset that both have opened. Its value says what is special about it."""

    STABLE = ""
    KEYED = "key annotated"
    PLAIN = "unstable row ids"
    REUSE = "reuse index"


@attrs.frozen
class Meeting:
    """Ours commits after theirs, each on the version before both."""

    ours: str
    theirs: str
    scene: Scene = Scene.STABLE

    def __str__(self) -> str:
        where = f" ({self.scene.value})" if self.scene.value else ""
        return f"{self.ours} over {self.theirs}{where}"

    @property
    def facts(self) -> ConflictFacts:
        """All that there is to know of it: nothing is left unknown."""
        mine, other = OPERATIONS[self.ours], OPERATIONS[self.theirs]
        return ConflictFacts(
            overlap=bool(mine.fragments & other.fragments),
            same_rows=bool(mine.rows & other.rows),
            same_key=bool(mine.keys & other.keys),
            same_field=bool(mine.fields & other.fields),
            indexed_field=bool(mine.fields & other.fields),
            stable_row_ids=self.scene in {Scene.STABLE, Scene.KEYED},
            our_reuse_index=mine.reuse_index,
            their_reuse_index=other.reuse_index,
            same_index=bool(mine.index) and mine.index == other.index,
            same_base=bool(mine.base & other.base),
        )

    @property
    def pairs(self) -> list[tuple[TransactionKind, TransactionKind]]:
        """The kinds that meet: a compaction is two commits."""
        return list(product(OPERATIONS[self.ours].kinds, OPERATIONS[self.theirs].kinds))

    @property
    def specified(self) -> Resolution:
        """What the rules say; of an operation that is two commits, the worse one counts."""
        return max((conflict(*pair, self.facts) for pair in self.pairs), key=BADNESS.index)


def _special() -> Iterator[Meeting]:
    for line in _SPECIAL.strip().splitlines():
        ours, _, others = line.partition(" over ")
        for theirs in others.split(", "):
            keyed = "insert" in ours + theirs
            yield Meeting(ours.strip(), theirs.strip(), Scene.KEYED if keyed else Scene.STABLE)
    for scene, lines in ((Scene.PLAIN, _PLAIN), (Scene.REUSE, _REUSE)):
        for line in lines.strip().splitlines():
            ours, _, others = line.partition(" over ")
            for theirs in others.split(", "):
                yield Meeting(ours.strip(), theirs.strip(), scene)


_SPECIAL = """
delete a over delete b, upsert b, update all of 0, replace x in 1, compact e f
update a over update a, delete a, delete b, upsert b
upsert a over upsert b, delete b, replace x in 1, compact e f
update column of 0 over upsert b, delete b, replace x in 1
insert k over insert k, insert m, delete a, update a, upsert a, append
append over insert k
compact over replace x in 1
compact c d over compact e f, replace x in 1, index id in 0
index over config j
index id in 0 over compact e f, compact c d, replace x in 0, replace id in 0
index x in 1 over index id in 0, replace x in 1
index of one name over index of one name
config over config j, table metadata
table metadata over overwrite, table metadata
schema metadata over schema metadata j
schema metadata j over schema metadata
field metadata over overwrite, restore, add column, field metadata
restore over field metadata, table metadata
add column over field metadata, table metadata
overwrite with retries over config j, schema metadata j
replace x in 0 over update a, update all of 0, index id in 0, replace x in 1, replace id in 0
replace x in 1 over upsert a, compact e f
replace id in 0 over replace x in 0, index x in 1, drop column
base p over base p elsewhere, base q
"""

_PLAIN = """
index over compact, compact c d, deferred c d
index x in 1 over compact c d, compact e f, deferred c d
index id in 0 over compact c d, deferred c d
compact over index, index x in 1
compact c d over index, index x in 1, index id in 0, compact e f, deferred e f
deferred c d over index, index x in 1, index id in 0, deferred c d, deferred e f, compact e f
deferred e f over index x in 1
delete c over compact c d, deferred c d
upsert c over compact c d, deferred c d
"""

_REUSE = """
deferred e f over trim reuse index, append
compact e f over trim reuse index
trim reuse index over deferred e f, compact e f, trim reuse index, index id in 0, append
index id in 0 over trim reuse index, deferred e f
"""

MEETINGS = tuple(
    dict.fromkeys(
        [
            *(
                Meeting(ours, theirs)
                for ours, theirs in product(EVERYWHERE, EVERYWHERE)
                if OPERATIONS[ours].never != "ours" and OPERATIONS[theirs].never != "theirs"
            ),
            *_special(),
        ]
    )
)


def stage(location: Path, scene: Scene) -> None:
    """Make the dataset of a scene."""
    stable = scene in {Scene.STABLE, Scene.KEYED}
    dataset = lance.write_dataset(
        people("a", "b", schema=KEYED if scene is Scene.KEYED else PLAIN),
        str(location),
        data_storage_version="2.2",
        enable_stable_row_ids=stable,
    )
    for row in "cdef":
        dataset = append(dataset, row)
    if not stable:
        dataset.create_scalar_index("x", "BTREE")
    if scene is Scene.REUSE:
        OPERATIONS["deferred c d"].step(lance.dataset(str(location)))


def meet(location: Path, meeting: Meeting) -> Resolution:
    """Let two handles commit, one after the other, and tell how the second one fared."""
    mine, other = _opened(location), _opened(location)
    OPERATIONS[meeting.theirs].step(other)
    try:
        OPERATIONS[meeting.ours].step(mine)
    except Exception as error:
        outcome = classify(error)
        if outcome is None:
            raise
        return outcome
    return Resolution.COMPATIBLE


def _opened(location: Path) -> LanceDataset:
    return lance.dataset(str(location))


def lands(outcome: Resolution) -> bool:
    """Return whether ours is in a version then; combined or not, that looks the same."""
    return outcome in {Resolution.COMPATIBLE, Resolution.REBASABLE}
