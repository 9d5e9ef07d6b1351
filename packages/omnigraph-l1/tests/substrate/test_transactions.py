"""What of a transaction can be read back, and what its file is good for."""

from __future__ import annotations

import shutil
from pathlib import Path

import lance
from lance import LanceDataset, LanceOperation

from ._support import (
    again,
    append,
    commit,
    commit_append,
    delete,
    failure,
    files,
    head,
    manifest,
    people,
    restore,
    staged,
    upsert,
)

UUID = "11111111-2222-4333-8444-555555555555"


def test_a_transaction_keeps_uuid_and_properties_when_rebased(table: LanceDataset) -> None:
    """LanceDataset.commit(ds, Transaction(uuid=…, operation=…)) keeps uuid and properties, also
    when rebased; read_version stays what the writer said.
    """
    operation = LanceOperation.Append(staged(table, "d"))
    append(again(table), "c")
    landed = commit(table, operation, base=1, uuid=UUID, properties={"run": "7"})
    assert landed.version == 3
    found = again(table).read_transaction(3)
    assert found is not None
    assert (found.uuid, found.transaction_properties) == (UUID, {"run": "7"})
    assert found.read_version == 1


def test_a_restore_of_ours_keeps_its_uuid(two: LanceDataset) -> None:
    """A Restore that is committed as a transaction carries our id, also when rebased."""
    old = again(two)
    append(two, "z")
    landed = commit(old, LanceOperation.Restore(1), uuid=UUID)
    found = again(two).read_transaction(landed.version)
    assert landed.version == 4
    assert found is not None
    assert (found.uuid, found.operation) == (UUID, LanceOperation.Restore(1))


def test_merges_deletes_and_plain_restores_have_ids_of_their_own(two: LanceDataset) -> None:
    """merge_insert.execute, delete and restore() take no id: a random one and no properties."""
    upsert(two, "n")
    delete(two, "a")
    again(two, 1).restore()
    found = [again(two).read_transaction(version) for version in (3, 4, 5)]
    kinds = [type(one.operation).__name__ for one in found if one is not None]
    assert kinds == ["Update", "Delete", "Restore"]
    assert [one.transaction_properties for one in found if one is not None] == [{}, {}, {}]
    assert len({one.uuid for one in found if one is not None}) == 3


def test_the_transaction_stands_in_the_manifest_too(table: LanceDataset) -> None:
    """The transaction is inlined at the head of the manifest, after four bytes of length."""
    landed = commit(table, LanceOperation.Append(staged(table, "c")), uuid=UUID)
    content = manifest(table.uri, landed.version).read_bytes()
    length = int.from_bytes(content[:4], "little")
    assert UUID.encode() in content[4 : 4 + length]
    assert f"_transactions/1-{UUID}.txn" in files(table.uri)


def test_lost_transaction_files_hurt_nobody(table: LanceDataset) -> None:
    """Without the whole _transactions folder: open, read_transaction, the rebase over versions
    whose file is lost, conflict detection, delta and the next commit all go on.
    """
    old, stale = again(table), again(table)
    landed = commit(table, LanceOperation.Append(staged(table, "c")), uuid=UUID)
    upsert(landed, "a")
    shutil.rmtree(Path(table.uri) / "_transactions")
    reader = again(table)
    found = reader.read_transaction(2)
    assert found is not None
    assert found.uuid == UUID
    assert commit_append(old, "d", base=1).version == 4
    failure(lambda: upsert(stale, "a")).require("OSError", "Too many concurrent writers.")
    inserted = again(table).delta(compared_against=1).get_inserted_rows().read_all()
    assert inserted["id"].to_pylist() == ["c", "d"]
    append(table, "e")
    assert head(table) == (5, "a b c d e")


def test_an_odd_uuid_is_escaped_in_the_file_name(table: LanceDataset) -> None:
    """A uuid need not be one: it is percent-encoded in the file name and read back as it was."""
    landed = commit(table, LanceOperation.Append(staged(table, "c")), uuid="run 7/x")
    assert "_transactions/1-run 7%2Fx.txn" in files(table.uri)
    found = again(table).read_transaction(landed.version)
    assert found is not None
    assert found.uuid == "run 7/x"


def test_write_dataset_takes_properties(table: LanceDataset) -> None:
    """write_dataset(transaction_properties=…) keeps them, with a uuid of Lance's own."""
    landed = lance.write_dataset(
        people("c"), table, mode="append", transaction_properties={"run": "8"}
    )
    found = again(table).read_transaction(landed.version)
    assert found is not None
    assert found.transaction_properties == {"run": "8"}


def test_a_reservation_reads_back_without_its_kind(two: LanceDataset) -> None:
    """A compaction is two versions: a reservation, which reads back as a bare BaseOperation, and
    the Rewrite. So it never is the base's version plus one.
    """
    two.optimize.compact_files()
    kinds = [type(again(two).read_transaction(v).operation).__name__ for v in (3, 4)]  # type: ignore[union-attr]
    assert (two.version, kinds) == (4, ["BaseOperation", "Rewrite"])


def test_changes_of_zero_rows_commit_a_version_too(two: LanceDataset) -> None:
    """Changes of zero rows commit a version too: append, delete and merge-insert."""
    append(two)
    two.checkout_latest()
    delete(two, "nobody")
    upsert(two)
    assert head(two) == (5, "a b c")


def test_a_compaction_with_nothing_to_do_commits_nothing(table: LanceDataset) -> None:
    """A compaction that finds nothing to do makes no version."""
    table.optimize.compact_files()
    assert head(table) == (1, "a b")
    restore(table, 1)
    assert head(table) == (2, "a b"), "a restore of the head itself does make one"
