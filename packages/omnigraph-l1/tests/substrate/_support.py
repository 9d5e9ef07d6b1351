"""What the substrate tests share: small datasets, the usual operations, and how a failure is met.

Plain pylance and pyarrow: nothing of omnigraph_l1 may be used here, because these tests say what
lies below it. A spawned process imports this module by its path, so it imports no sibling.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs
import lance
import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import FragmentMetadata, write_fragments

PRIMARY_KEY = "lance-schema:unenforced-primary-key"
PLAIN = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("x", pa.int64())])
KEYED = pa.schema([PLAIN.field("id").with_metadata({PRIMARY_KEY: "true"}), PLAIN.field("x")])

TOO_MANY_WRITERS = "Too many concurrent writers. Attempted 0 retries."
BRANCH_IS_THERE = "Clone operation should not enter build_manifest"
DATA_IS_MISSING = "External error: LanceError(IO): Generic N/A error: Not found:"


def people(*ids: str, x: int = 1, schema: pa.Schema = PLAIN) -> pa.Table:
    """Make a table with these ids, each with the same ``x``."""
    return pa.table({"id": list(ids), "x": [x] * len(ids)}, schema=schema)


def create(
    location: Path | str,
    *ids: str,
    schema: pa.Schema = PLAIN,
    options: dict[str, str] | None = None,
) -> LanceDataset:
    """Create a dataset as we do: storage version 2.2, stable row ids, V2 names."""
    return lance.write_dataset(
        people(*ids, schema=schema),
        str(location),
        data_storage_version="2.2",
        enable_stable_row_ids=True,
        storage_options=options,
    )


def again(dataset: LanceDataset, version: int | None = None) -> LanceDataset:
    """Open the dataset once more, with nothing cached: at its head, or at a version."""
    options = dataset.initial_storage_options
    return lance.dataset(dataset.uri, version=version, storage_options=options)


def rows(dataset: LanceDataset) -> str:
    """Return the ids that the handle sees, sorted, with blanks between."""
    return " ".join(sorted(dataset.to_table(columns=["id"])["id"].to_pylist()))


def head(dataset: LanceDataset) -> tuple[int, str]:
    """Return the newest version and its ids, as somebody else would see them."""
    latest = again(dataset)
    return latest.version, rows(latest)


def versions(dataset: LanceDataset) -> list[int]:
    """Return the numbers of the versions that are there."""
    return [ref["version"] for ref in again(dataset).version_refs()]


def append(dataset: LanceDataset | str, *ids: str) -> LanceDataset:
    """Append rows with Lance's own retries, and return the new version."""
    schema = dataset.schema if isinstance(dataset, LanceDataset) else PLAIN
    return lance.write_dataset(people(*ids, schema=schema), dataset, mode="append")


def upsert(dataset: LanceDataset, *ids: str, x: int = 2, use_index: bool = False) -> dict[str, int]:
    """Insert or replace by id, without retries; the handle moves to the new version."""
    return dict(
        merge(dataset, use_index=use_index).execute(people(*ids, x=x, schema=dataset.schema))
    )


def merge(dataset: LanceDataset, *, use_index: bool = False) -> Any:
    """Build the merge-insert that we use."""
    return (
        dataset.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .conflict_retries(0)
        .use_index(use_index)
    )


def delete(dataset: LanceDataset, *ids: str) -> None:
    """Delete by id, without retries; the handle moves to the new version."""
    dataset.delete("id in ({})".format(", ".join(f"'{one}'" for one in ids)), conflict_retries=0)


def staged(dataset: LanceDataset | str, *ids: str, x: int = 1) -> list[FragmentMetadata]:
    """Write data files without committing them."""
    schema = dataset.schema if isinstance(dataset, LanceDataset) else PLAIN
    return write_fragments(people(*ids, x=x, schema=schema), dataset)


def commit(
    dataset: LanceDataset | str,
    operation: LanceOperation.BaseOperation,
    *,
    base: int | None = None,
    uuid: str | None = None,
    properties: Mapping[str, str] | None = None,
    **options: Any,
) -> LanceDataset:
    """Commit an operation that was based on version ``base``, without retries."""
    if base is None:
        assert isinstance(dataset, LanceDataset)
        base = dataset.version
    transaction = Transaction(
        read_version=base, operation=operation, transaction_properties=dict(properties or {})
    )
    if uuid is not None:
        transaction.uuid = uuid
    options.setdefault("max_retries", 0)
    return LanceDataset.commit(dataset, transaction, **options)


def commit_append(dataset: LanceDataset, *ids: str, base: int | None = None) -> LanceDataset:
    """Stage rows and commit them, without retries."""
    return commit(dataset, LanceOperation.Append(staged(dataset, *ids)), base=base)


def restore(dataset: LanceDataset, version: int, *, base: int | None = None) -> LanceDataset:
    """Restore by a commit of our own, without retries."""
    return commit(dataset, LanceOperation.Restore(version), base=base)


def overwrite(dataset: LanceDataset, *ids: str, base: int | None = None) -> LanceDataset:
    """Replace everything by a commit of our own, without retries."""
    written = write_fragments(people(*ids, schema=dataset.schema), dataset, mode="overwrite")
    return commit(dataset, LanceOperation.Overwrite(dataset.schema, written), base=base)


def files(location: Path | str) -> set[str]:
    """Name all files below, relative to ``location``."""
    root = Path(location)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def manifest_name(version: int) -> str:
    """Return the file name of a version's manifest (the V2 names count down)."""
    return f"{2**64 - 1 - version}.manifest"


def manifest(location: Path | str, version: int) -> Path:
    """Return the manifest of a version on the local disk."""
    return Path(location) / "_versions" / manifest_name(version)


@attrs.frozen
class Failure:
    """How a call failed: the very type of what it raised, its text, and ``retryable`` if any."""

    type: str
    text: str
    retryable: bool | None = None

    def require(self, type_: str, start: str, *, contains: Iterable[str] = ()) -> None:
        """Assert the type and the text, and say which of them changed."""
        assert self.type == type_, f"raises {self.type} now, it was {type_}: {self.text[:300]}"
        assert self.text.startswith(start), (
            f"the text starts differently now: {self.text[:300]!r}, it was {start!r}"
        )
        for part in contains:
            assert part in self.text, f"the text lacks {part!r} now: {self.text[:600]!r}"


def failure(call: Callable[[], object]) -> Failure:
    """Return how the call fails, and fail if it does not."""
    try:
        result = call()
    except BaseException as exc:
        if isinstance(exc, (KeyboardInterrupt, SystemExit)):
            raise
        return Failure(type(exc).__name__, str(exc), getattr(exc, "retryable", None))
    message = f"this used to be refused, and now succeeds: {result!r:.200}"
    raise AssertionError(message)


def outcome(call: Callable[[], object]) -> Failure | None:
    """Return how the call fails, or None."""
    try:
        call()
    except Exception as exc:  # noqa: BLE001 - all that Lance raises for a refusal
        return Failure(type(exc).__name__, str(exc), getattr(exc, "retryable", None))
    return None


def spawn(
    code: str, *arguments: object, env: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a real process that runs ``code`` after ``from _support import *``; argv from 1 on."""
    prelude = (
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom _support import *\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", prelude + code, *(str(one) for one in arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )


def finish(process: subprocess.Popen[str]) -> Any:
    """Wait for a process of ``spawn`` and return what it printed last, as JSON."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err[-2000:]
    lines = out.splitlines()
    return json.loads(lines[-1]) if lines else None


def elsewhere(code: str, *arguments: object) -> Any:
    """Run ``code`` in another process to its end."""
    return finish(spawn(code, *arguments))
