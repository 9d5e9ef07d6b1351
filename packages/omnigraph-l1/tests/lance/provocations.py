"""What makes Lance say each of the texts by which its failures are recognised.

White-box: the texts are a private table, and each entry of it has to be provoked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments
from lance.optimize import Compaction, CompactionOptions

from omnigraph_l1._lance.lance_failures import _TEXTS as TEXTS
from omnigraph_l1._lance.lance_failures import Symptom, symptom
from omnigraph_testing import Answer, CutRequest, Effect

KEY = {"lance-schema:unenforced-primary-key": "true"}
SCHEMA = pa.schema([pa.field("id", pa.string(), False, KEY), pa.field("x", pa.int64())])


def rows(*ids: str, x: int = 1) -> pa.Table:
    """Rows with these ids."""
    return pa.table({"id": list(ids), "x": [x] * len(ids)}, schema=SCHEMA)


def make(location: Path | str, *ids: str, options: dict[str, str] | None = None) -> LanceDataset:
    """Make a dataset of one version."""
    return lance.write_dataset(
        rows(*ids), str(location), storage_options=options, data_storage_version="2.2"
    )


def again(dataset: LanceDataset) -> LanceDataset:
    """Open it once more, with nothing cached."""
    return lance.dataset(dataset.uri, storage_options=dataset.initial_storage_options)


def append(dataset: LanceDataset, *ids: str) -> LanceDataset:
    """Add rows."""
    return lance.write_dataset(rows(*ids), dataset, mode="append")


def commit(dataset: LanceDataset, operation: Any, base: int) -> LanceDataset:
    """Commit once."""
    transaction = Transaction(read_version=base, operation=operation)
    return LanceDataset.commit(dataset, transaction, max_retries=0)


def merge(dataset: LanceDataset, data: Any) -> None:
    """Upsert by id, once."""
    builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    builder.conflict_retries(0).use_index(use_index=False).execute(data)


@attrs.frozen
class Scene:
    """A dataset of two versions on local disk."""

    dataset: LanceDataset

    @property
    def root(self) -> Path:
        """Where it is."""
        return Path(self.dataset.uri)

    def version_file(self, version: int, lineage: str = ".") -> Path:
        """The file of a version."""
        return self.root / lineage / "_versions" / f"{2**64 - 1 - version}.manifest"

    def damage(self, change: Callable[[bytes], bytes], version: int = 2) -> LanceDataset:
        """Damage a version file, and give a handle that saw nothing of it."""
        path = self.version_file(version)
        path.write_bytes(change(path.read_bytes()))
        return lance.dataset(str(self.root), version=1)


def append_over_overwrite(scene: Scene) -> None:
    """What it wanted to add to is gone."""
    operation = LanceOperation.Append(write_fragments(rows("d"), scene.dataset))
    lance.write_dataset(rows("z"), scene.dataset.uri, mode="overwrite")
    commit(scene.dataset, operation, 2)


def compaction_over_deletion(scene: Scene) -> None:
    """A fragment that was rewritten lost a row meanwhile."""
    plan = Compaction.plan(scene.dataset, CompactionOptions())
    rewritten = [task.execute(scene.dataset) for task in plan.tasks]
    again(scene.dataset).delete("id = 'a'", conflict_retries=0)
    Compaction.commit(scene.dataset, rewritten)


def two_merges(scene: Scene) -> None:
    """Both insert one key."""
    second = again(scene.dataset)
    merge(scene.dataset, rows("new"))
    merge(second, rows("new"))


def fork_twice(scene: Scene) -> None:
    """One name, two branches."""
    scene.dataset.create_branch("x")
    scene.dataset.create_branch("x")


def tag_twice(scene: Scene) -> None:
    """One name, two tags."""
    scene.dataset.tags.create("x", 1)
    scene.dataset.tags.create("x", 1)


def remove_tagged(scene: Scene) -> None:
    """A tag holds the version."""
    scene.dataset.tags.create("x", 1)
    scene.dataset.cleanup_old_versions(versions=[1])


def manifest_of_another_branch(scene: Scene) -> None:
    """Its newest version file is one of main's."""
    branch = scene.dataset.create_branch("x")
    foreign = scene.version_file(2).read_bytes()
    scene.version_file(branch.version + 1, "tree/x").write_bytes(foreign)
    again(scene.dataset).checkout_version(("x", None))


def names_of_both_kinds(scene: Scene) -> None:
    """A migration of the names of versions was cut short."""
    scene.version_file(1).rename(scene.root / "_versions" / "1.manifest")
    again(scene.dataset)


def zeroed_data(scene: Scene) -> None:
    """As a power cut leaves data that was not flushed."""
    for path in (scene.root / "data").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    again(scene.dataset).to_table()


def nulls_in_a_stream(scene: Scene) -> None:
    """The batches bear the very schema."""
    batch = pa.RecordBatch.from_arrays([pa.array(["q", None]), pa.array([1, 1])], schema=SCHEMA)
    write_fragments(pa.RecordBatchReader.from_batches(SCHEMA, iter([batch])), scene.dataset)


def missing_data(scene: Scene) -> None:
    """Somebody deleted the files."""
    for path in (scene.root / "data").iterdir():
        path.unlink()
    again(scene.dataset).to_table()


def torn_branch(scene: Scene) -> None:
    """What Lance says of a branch is cut short."""
    scene.dataset.create_branch("side")
    (document,) = (scene.root / "_refs" / "branches").glob("side*.json")
    document.write_bytes(document.read_bytes()[:-9])
    again(scene.dataset).branches.list()


def append_columns(scene: Scene, columns: list[pa.Array], names: list[str]) -> None:
    """Columns that may not fit."""
    data = pa.Table.from_arrays(columns, names)
    lance.write_dataset(data, scene.dataset, mode="append")


LOCAL: dict[str, Callable[[Scene], object]] = {
    r"^Incompatible transaction:": append_over_overwrite,
    r"^Retryable commit conflict": compaction_over_deletion,
    r"^Too many concurrent writers": two_merges,
    r"Clone operation should not enter build_manifest": fork_twice,
    r"^Dataset already exists": lambda scene: make(scene.root, "z"),
    r"^Ref conflict error:": tag_twice,
    r"^Ref not found error:": lambda scene: scene.dataset.tags.delete("x"),
    r"^Version not found error:": lambda scene: scene.dataset.tags.create("x", 99),
    r"tagged version\(s\) have been marked for cleanup": remove_tagged,
    r"Generic memory error: Invalid range": lambda scene: again(scene.damage(lambda _: b"")),
    r"Requested range was invalid": lambda scene: scene.damage(lambda _: b"").versions(),
    r"Dataset version 0 does not have a transaction file": lambda scene: append(
        scene.damage(lambda data: bytes(len(data))), "d"
    ),
    r"resolved a manifest belonging to branch": manifest_of_another_branch,
    r"Found multiple manifest naming schemes": names_of_both_kinds,
    r"does not appear to be a Lance file": zeroed_data,
    r"range end index \d+ out of range": lambda scene: again(
        scene.damage(lambda data: b"\xff" * 16 + data[16:])
    ),
    r"does not have sufficient data, len:": lambda scene: again(
        scene.damage(lambda data: data[:1])
    ),
    r"encountered corrupt file": lambda scene: scene.damage(lambda data: data[:99]).versions(),
    r"file size is too small": lambda scene: again(scene.damage(lambda data: data[:-1])),
    r"failed to decode Protobuf": lambda scene: again(
        scene.damage(lambda data: data[:-20] + bytes(20))
    ),
    r"^LanceError\(Arrow\): .* at line \d+ column \d+": torn_branch,
    r"_versions/\d+\.manifest was not found": lambda scene: scene.dataset.checkout_version(99),
    r"^Not found: \S*_versions/\d+\.manifest": lambda scene: commit(
        scene.dataset, LanceOperation.Restore(99), 2
    ),
    r"^Dataset at path .* was not found": lambda scene: lance.dataset(str(scene.root / "x")),
    r"Not found:": missing_data,
    r"contained null values even though the field is marked non-null": lambda scene: append_columns(
        scene, [pa.array(["q", None]), pa.array([1, 1])], ["id", "x"]
    ),
    r"is declared as non-nullable but contains null values": nulls_in_a_stream,
    r"^Append with different schema": lambda scene: append_columns(
        scene, [pa.array(["q"])], ["other"]
    ),
    r"Ambiguous merge inserts are prohibited": lambda scene: merge(
        scene.dataset, rows("a", "a", x=2)
    ),
    r"Duplicate field name": lambda scene: append_columns(
        scene, [pa.array(["q"]), pa.array([1]), pa.array([1])], ["id", "x", "x"]
    ),
    r"Invalid user input:": lambda scene: scene.dataset.to_table(filter="nobody = 1"),
    r"Query Execution error:": lambda scene: scene.dataset.to_table(filter="x / 0 > 1"),
}


REMOTE: dict[str, Effect] = {
    r"^Commit conflict for version": Answer(412),
    r"403 Forbidden": Answer(403),
    r"401 Unauthorized": Answer(401),
    r"error sending request": CutRequest(),
    r"status code: 5\d\d": Answer(504),
    r"status code: 429": Answer(429),
}


OTHERWISE = {
    r"<Code>ExpiredToken</Code>",
    r"Range started at 0 and ended at 0",
    r"request or response body error",
    r"<Code>NoSuchBucket</Code>",
    r"Commit result for version \d+ is unknown",
    # tests/versions/test_crashes.py
    r"Namespace error: .* was reserved, and its staged file",
    r"Namespace error: .* the record of version \d+ in .* is damaged",
    r"Namespace error: Service unavailable",
}


BY_NUMBER = {Symptom.FULL, Symptom.EXHAUSTED}
"""Known by the number that the operating system gives, and by no text."""


def provoked(call: Callable[[], object]) -> BaseException:
    """Return what the call raises: a panic of Lance is no ``Exception``."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        call()
    return caught.value


def recognised(error: BaseException, text: str) -> None:
    """The failure bears this text, and it is this text that gives it its meaning."""
    meaning, pattern = next((meaning, pattern) for meaning, pattern in TEXTS if pattern == text)
    assert re.search(pattern, str(error), re.IGNORECASE), f"{type(error).__name__}: {error}"
    assert symptom(error) is meaning, str(error)
    before = [other for _, other in TEXTS[: TEXTS.index((meaning, pattern))]]
    assert not [one for one in before if re.search(one, str(error), re.IGNORECASE)]
