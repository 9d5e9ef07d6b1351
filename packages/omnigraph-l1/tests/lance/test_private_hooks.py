"""What is used of pylance beyond its documented interface fails loudly if it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.fragment import DataFile

from omnigraph_l1 import Caches, Table
from omnigraph_l1.errors import UnsupportedPylance

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("n", pa.int64())])


def test_caches_that_are_gone_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the version found, and those that are supported."""
    monkeypatch.delattr(lance, "Session")
    with pytest.raises(UnsupportedPylance, match=r"lance\.Session.*14\.0\.2") as raised:
        Caches()
    assert raised.value.found == lance.__version__


def test_data_files_that_keep_their_name_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The property that says it is documented, and makes a class for each answer."""
    Table.create(tmp_path / "t", SCHEMA).append(pa.table({"id": ["a"], "n": [1]}, SCHEMA))
    monkeypatch.setattr(
        DataFile, "__init__", lambda self, path, *more: vars(self).update(name=path, more=more)
    )
    with pytest.raises(UnsupportedPylance, match="DataFile"):
        Table.open(tmp_path / "t")


def test_schemas_that_pickle_in_another_way_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written."""
    table = Table.create(tmp_path / "t", SCHEMA)
    schema: Any = LanceDataset.lance_schema

    class Changed:
        def __init__(self, dataset: LanceDataset) -> None:
            self.fields = schema.fget(dataset).fields

        def __reduce__(self) -> Any:
            return dict, ({}, b"all fields in one message")

    monkeypatch.setattr(LanceDataset, "lance_schema", property(Changed))
    with pytest.raises(UnsupportedPylance, match="LanceSchema"):
        table.drop_columns(["n"])
    assert table.refresh() is table
    monkeypatch.undo()
    assert table.drop_columns(["n"]).table.schema.names == ["id"]
