"""The states that a power cut could leave, chosen from all the cuts and all that may be lost.

Invariant: a state is a cut, the pending names that survived it, and one possible content for each
file with pending writes. If there are no more states than ``limit``, all are given
(``exhaustive``). Otherwise cuts right after a mark come first, and of the states a third each are
those with everything lost or kept and names without data, those with a single thing lost or kept,
and seeded random mixtures. The same seed gives the same states.
"""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import attrs

from campaign.power_cuts.data_variants import WHOLE, Variant, apply_data, variants
from campaign.power_cuts.disk_models import DiskModel
from campaign.power_cuts.disk_state import Change, Situation
from campaign.power_cuts.tree_image import Image, build_image
from campaign.tracing.file_operations import Mark
from campaign.tracing.tree_snapshot import Snapshot

__all__ = ["Choice", "PowerCut", "Scene", "choose", "nothing_lost"]


@attrs.frozen(slots=False)
class Scene:
    """One cut with everything that may or may not have arrived by then."""

    snapshot: Snapshot = attrs.field(repr=False)
    situation: Situation = attrs.field(repr=False)
    model: DiskModel
    seed: int
    known: dict[tuple[int, int, int], tuple[Variant, ...]] = attrs.field(repr=False)

    @cached_property
    def pending(self) -> tuple[Change, ...]:
        """The changes of names that may or may not have arrived."""
        return self.situation.pending_changes

    @cached_property
    def contents(self) -> Mapping[int, tuple[Variant, ...]]:
        """What each file that was written may contain; one variant if all of it is safe."""
        return {file: self._variants(file) for file in self.situation.histories}

    def _variants(self, file: int) -> tuple[Variant, ...]:
        history = self.situation.histories[file]
        key = (file, history.safe, len(history.operations))
        if key not in self.known:
            copy = self.snapshot.files.get(file)
            initial = b"" if copy is None else copy.read_bytes()
            safe = apply_data(initial, history.operations[: history.safe])
            rng = random.Random(f"{self.seed}/{key}")  # noqa: S311 - repeatable, not secret
            self.known[key] = variants(safe, history.pending, model=self.model, rng=rng)
        return self.known[key]

    def possible_names(self) -> Iterator[frozenset[int]]:
        """Every set of pending changes that can have arrived."""
        positions = [change.position for change in self.pending]
        if self.model.names_in_order:
            yield from (frozenset(positions[:count]) for count in range(len(positions) + 1))
            return
        for chosen in itertools.product((False, True), repeat=len(positions)):
            kept = frozenset(itertools.compress(positions, chosen))
            if kept == self.allowed(kept):
                yield kept

    def allowed(self, kept: frozenset[int]) -> frozenset[int]:
        """Take out what cannot have arrived without something else."""
        if self.model.names_in_order:
            positions = [change.position for change in self.pending]
            return frozenset(itertools.takewhile(kept.__contains__, positions))
        safe = {change.position for change in self.situation.changes if change.safe}
        held: set[int] = set()
        for change in self.pending:
            there = change.needs is None or change.needs in safe or change.needs in held
            if change.position in kept and there:
                held.add(change.position)
        return frozenset(held)

    def count(self, limit: int) -> int:
        """Count the states of this cut, but not far beyond ``limit``."""
        total = len(self.pending) + 1
        if not self.model.names_in_order:
            total = 2 ** min(len(self.pending), 40)
        for options in self.contents.values():
            if total > limit:
                break
            total *= len(options)
        return total


@attrs.frozen
class Choice:
    """Which pending names arrived, and which variant (by index) each file has."""

    names: frozenset[int]
    data: tuple[tuple[int, int], ...]


@attrs.frozen(slots=False)
class PowerCut:
    """One state of the disk that a power cut could leave."""

    scene: Scene = attrs.field(repr=False)
    choice: Choice = attrs.field(repr=False)

    @property
    def acknowledged(self) -> tuple[str, ...]:
        """The marks that the process had set before the power went."""
        return self.scene.situation.acknowledged

    @property
    def cut(self) -> int:
        """After how many operations of the trace the power went."""
        return self.scene.situation.cut

    @cached_property
    def image(self) -> Image:
        """The tree that would be found: ``nodes`` has what stands at each relative path."""
        scene, choice = self.scene, self.choice
        kept = [change for change in scene.pending if change.position in choice.names]
        contents = {file: scene.contents[file][index].content for file, index in self.choice.data}
        return build_image(scene.snapshot, scene.situation, kept, contents)

    def materialise(self, directory: str | Path) -> Path:
        """Write the state into a directory (empty, or not there yet), and give that back."""
        place = Path(directory)
        self.image.write_to(place)
        return place

    def __str__(self) -> str:
        scene, situation = self.scene, self.scene.situation
        lost = [each.label for each in scene.pending if each.position not in self.choice.names]
        lost += [
            f"{situation.histories[file].path} has {scene.contents[file][index].label}"
            for file, index in self.choice.data
            if scene.contents[file][index].label != WHOLE
        ]
        last = "the beginning" if situation.last is None else str(situation.last)
        return (
            f"power cut after operation {self.cut} ({last}); "
            f"acknowledged: {', '.join(self.acknowledged) or 'nothing'}; "
            f"lost: {'; '.join(lost) or 'nothing'}"
        )


def nothing_lost(scene: Scene) -> PowerCut:
    """Let everything arrive that was done before the cut."""
    everything = frozenset(change.position for change in scene.pending)
    return PowerCut(scene, Choice(everything, _same(scene, 0)))


def choose(scenes: Sequence[Scene], *, seed: int, limit: int) -> tuple[tuple[PowerCut, ...], bool]:
    """Choose states, each tree with each acknowledgement once. True: these are all."""
    total = 0
    for scene in scenes:
        total += scene.count(limit)
        if total > limit:
            break
    exhaustive = total <= limit
    candidates = _all(scenes) if exhaustive else _telling(scenes, random.Random(seed), limit)  # noqa: S311
    found: dict[tuple[object, ...], PowerCut] = {}
    fruitless = 0
    for cut in candidates:
        before = len(found)
        found.setdefault((cut.image.key(), cut.acknowledged), cut)
        fruitless = fruitless + 1 if len(found) == before else 0
        if len(found) >= limit or fruitless > limit + 100:
            break
    return tuple(found.values()), exhaustive


def _all(scenes: Sequence[Scene]) -> Iterator[PowerCut]:
    for scene in scenes:
        files = list(scene.contents)
        for names in scene.possible_names():
            for indexes in itertools.product(*(range(len(scene.contents[file])) for file in files)):
                yield PowerCut(scene, Choice(names, tuple(zip(files, indexes, strict=True))))


def _telling(scenes: Sequence[Scene], rng: random.Random, limit: int) -> Iterator[PowerCut]:
    """Give states in a telling order; nothing is computed for cuts that are not reached."""
    marked = [scene for scene in scenes if isinstance(scene.situation.last, Mark)]
    others = [scene for scene in scenes if not isinstance(scene.situation.last, Mark)]
    ordered = [*marked, *rng.sample(others, len(others))]
    extremes = _in_turn([_extremes(scene) for scene in ordered])
    singles = _in_turn([_singles(scene, rng) for scene in ordered])
    yield from itertools.islice(extremes, limit // 3)
    yield from itertools.islice(singles, limit // 3)
    yield from _in_turn([extremes, singles, _mixtures(ordered, rng)])


def _in_turn(sources: Iterable[Iterator[PowerCut]]) -> Iterator[PowerCut]:
    """Take one of each source, then another of each, until all are empty."""
    waiting = deque(sources)
    while waiting:
        source = waiting.popleft()
        for cut in itertools.islice(source, 1):
            yield cut
            waiting.append(source)


def _extremes(scene: Scene) -> Iterator[PowerCut]:
    everything = frozenset(change.position for change in scene.pending)
    for index in (1, 2, 0):
        for names in (everything, frozenset[int]()):
            yield PowerCut(scene, Choice(names, _same(scene, index)))


def _singles(scene: Scene, rng: random.Random) -> Iterator[PowerCut]:
    everything = frozenset(change.position for change in scene.pending)
    whole = _same(scene, 0)
    found = [Choice(everything, whole)]
    for position in everything:
        found.append(Choice(scene.allowed(everything - {position}), whole))
        found.append(Choice(scene.allowed(frozenset({position})), whole))
    for file, options in scene.contents.items():
        for index in range(1, len(options)):
            changed = tuple((each, index if each == file else old) for each, old in whole)
            found.append(Choice(everything, changed))
    rng.shuffle(found)
    yield from (PowerCut(scene, choice) for choice in found)


def _mixtures(scenes: Sequence[Scene], rng: random.Random) -> Iterator[PowerCut]:
    while True:
        scene = rng.choice(scenes)
        yield PowerCut(scene, _mixture(scene, rng))


def _mixture(scene: Scene, rng: random.Random) -> Choice:
    share = rng.random()
    kept = frozenset(change.position for change in scene.pending if rng.random() < share)
    if scene.model.names_in_order:
        positions = [change.position for change in scene.pending]
        kept = frozenset(positions[: rng.randint(0, len(positions))])
    data = tuple((file, rng.randrange(len(options))) for file, options in scene.contents.items())
    return Choice(scene.allowed(kept), data)


def _same(scene: Scene, index: int) -> tuple[tuple[int, int], ...]:
    """Give every file the variant at an index, or its last one if it has fewer."""
    return tuple((file, min(index, len(all_) - 1)) for file, all_ in scene.contents.items())
