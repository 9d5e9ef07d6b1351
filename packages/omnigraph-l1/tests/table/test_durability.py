"""Power cuts on local disk: what was acknowledged is there, whole, in every state they leave."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows

from campaign.power_cuts import PowerCut
from campaign.traced_crash import TracedCrash
from omnigraph_l1 import Durability, Table
from omnigraph_l1.errors import InvalidRequest, L1Error
from omnigraph_testing import mark

pytestmark = pytest.mark.integration


def busy_life(location: str, durability: str) -> None:
    """Every way of committing, each acknowledged with what must be readable from then on."""
    table = Table.create(location, SCHEMA, durability=durability)
    mark("")
    table = table.append(rows("a", "b")).table
    mark("a b")
    table = table.upsert(rows("b", "c"), "id").table
    mark("a b c")
    table = table.cas_merge(rows("d"), key="id", write_id="w").table
    mark("a b c d")
    table = table.delete("id = 'a'").table
    mark("b c d")
    table = table.compact().table
    mark("b c d ")
    table = table.create_index("id").table
    mark("b c d  ")
    table = table.restore(2).table
    mark("a b")
    table.commit(table.stage_written([table.write_target.write(rows("e"))]))
    mark("a b e")


LIFE = ["", "a b", "a b c", "a b c d", "b c d", "b c d", "b c d", "a b", "a b e"]


def branch_life(location: str, durability: str) -> None:
    """A branch, its rows, and a tag."""
    table = Table.create(location, SCHEMA, durability=durability).append(rows("a")).table
    mark("")
    branch = table.fork("side.1")
    mark("a")
    branch = branch.append(rows("b")).table
    mark("a b")
    branch.tag("v1")
    mark("a b tagged")


def changing_life(location: str) -> None:
    """Every way of changing a table without its data, acknowledged with what must be seen then."""
    table = Table.create(location, SCHEMA).append(rows("a")).table
    mark("id age city")
    table = table.add_columns([pa.field("nick", pa.string())]).table
    mark("id age city nick")
    table = table.drop_columns(["age"]).table
    mark("id city nick")
    table = table.annotate(schema_metadata={"stamp": "2"}).table
    mark("id city nick stamped")
    table.replace_schema(pa.schema([pa.field("other", pa.string())]))
    mark("other")


def shown(table: Table) -> str:
    """What a change without data has made of the table."""
    return " ".join(
        [*table.schema.names, *["stamped"] * (b"stamp" in (table.schema.metadata or {}))]
    )


def after(state: PowerCut, folder: Path) -> Path:
    """Build what the power cut left."""
    return state.materialise(folder) / "table"


def test_no_acknowledged_version_is_torn_or_lost(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """In each state the table opens, with the rows of the last acknowledged commit or later."""
    (tmp_path / "disk").mkdir()
    trace = traced_crash.record(
        busy_life, str(tmp_path / "disk" / "table"), "full", root=tmp_path / "disk"
    )
    for number, state in enumerate(trace.power_cuts(limit=600)):
        acknowledged = len(state.acknowledged)
        if not acknowledged:
            continue
        location = after(state, tmp_path / f"state-{number}")
        table = Table.open(location)
        found = " ".join(ids(table.read()))
        assert found in LIFE[acknowledged - 1 : acknowledged + 1], str(state)
        assert table.version >= acknowledged, str(state)
        assert ids(table.find("id", ["b"])) == ids(table.read(filter="id = 'b'")), str(state)


def test_the_next_writer_works_after_any_power_cut(
    traced_crash: TracedCrash, tmp_path: Path
) -> None:
    """Whatever state is left, the table can be created or opened, and written."""
    (tmp_path / "disk").mkdir()
    trace = traced_crash.record(
        busy_life, str(tmp_path / "disk" / "table"), "full", root=tmp_path / "disk"
    )
    for number, state in enumerate(trace.power_cuts(limit=150, seed=1)):
        location = after(state, tmp_path / f"state-{number}")
        try:
            table = Table.open(location)
        except L1Error:
            assert not state.acknowledged, str(state)
            table = Table.create(location, SCHEMA)
        commit = table.append(rows("next"))
        assert commit.follows_base, str(state)
        assert ids(commit.table.read()) == sorted([*ids(table.read()), "next"]), str(state)


def test_changes_without_data_survive_too(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """In each state the table shows the last acknowledged change or the one that was under way."""
    (tmp_path / "disk").mkdir()
    trace = traced_crash.record(
        changing_life, str(tmp_path / "disk" / "table"), root=tmp_path / "disk"
    )
    life = ["id age city", "id age city nick", "id city nick", "id city nick stamped", "other"]
    seen = set()
    for number, state in enumerate(trace.power_cuts(limit=200)):
        acknowledged = len(state.acknowledged)
        if not acknowledged:
            continue
        table = Table.open(after(state, tmp_path / f"state-{number}"))
        assert shown(table) in life[acknowledged - 1 : acknowledged + 1], str(state)
        assert table.count() == (0 if shown(table) == "other" else 1), str(state)
        seen.add(acknowledged)
    assert seen == set(range(1, len(life) + 1))


def test_branches_and_tags_survive_too(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """A fork that was acknowledged opens, with its rows; a tag is listed."""
    (tmp_path / "disk").mkdir()
    trace = traced_crash.record(
        branch_life, str(tmp_path / "disk" / "table"), "full", root=tmp_path / "disk"
    )
    # Lance records where a branch came from by its absolute path, so the states stand there.
    original = tmp_path / "disk"
    for number, state in enumerate(trace.power_cuts(limit=300)):
        if not state.acknowledged[1:]:
            continue
        original.rename(tmp_path / f"was-{number}")
        state.materialise(original)
        branch = Table.open(original / "table", branch="side.1")
        assert set(state.acknowledged[-1].split()) - {"tagged"} <= set(ids(branch.read())), state
        if "tagged" in state.acknowledged[-1]:
            assert "v1" in branch.tags(), str(state)


def test_durability_none_is_what_it_says(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """Without flushing some state loses what was acknowledged: the instrument can see it."""
    (tmp_path / "disk").mkdir()
    trace = traced_crash.record(
        busy_life, str(tmp_path / "disk" / "table"), "none", root=tmp_path / "disk"
    )
    lost = 0
    for number, state in enumerate(trace.power_cuts(limit=100)):
        if not state.acknowledged:
            continue
        location = after(state, tmp_path / f"state-{number}")
        try:
            found = " ".join(ids(Table.open(location).read()))
        except L1Error:
            lost += 1
        else:
            lost += found not in LIFE[len(state.acknowledged) - 1 :]
    assert lost > 0


def test_full_is_the_default_and_none_must_be_asked_for(tmp_path: Path) -> None:
    """Who says nothing gets the safe one; a wrong word is refused."""
    assert Durability("full") is Durability.FULL
    with pytest.raises(InvalidRequest, match="'often': expected one of 'full', 'none'"):
        Table.create(tmp_path / "t", SCHEMA, durability="often")
    assert list(tmp_path.iterdir()) == []
    location = Table.create(tmp_path / "t", SCHEMA).location
    with pytest.raises(InvalidRequest, match="3: expected one of 'full', 'none'"):
        Table.open(location, durability=3)  # type: ignore[arg-type]


def mixed_life(location: str) -> None:
    """A durable writer goes on from what another one left without flushing it."""
    table = Table.create(location, SCHEMA).append(rows("a")).table
    mark("a")
    hasty = Table.open(location, durability="none")
    hasty = hasty.append(rows("b")).table.delete("id = 'a'").table
    hasty.create_index("id")
    table.refresh().append(rows("c"))
    mark("b c")
    Table.open(location, durability="none").upsert(rows("d"), "id")
    table.refresh().fork("side.1").append(rows("e"))
    mark("b c d e")


def test_a_durable_commit_on_what_was_not_flushed(
    traced_crash: TracedCrash, tmp_path: Path
) -> None:
    """It makes durable what it stands on, so that all of it is there in each state."""
    (tmp_path / "disk").mkdir()
    trace = traced_crash.record(
        mixed_life, str(tmp_path / "disk" / "table"), root=tmp_path / "disk"
    )
    # Lance records where a branch came from by its absolute path, so the states stand there.
    original, seen = tmp_path / "disk", set()
    for number, state in enumerate(trace.power_cuts(limit=300)):
        acknowledged = state.acknowledged[-1] if state.acknowledged else "a"
        if acknowledged == "a":
            continue
        original.rename(tmp_path / f"was-{number}")
        state.materialise(original)
        found = ids(Table.open(original / "table").read())
        assert found in (["b", "c"], ["b", "c", "d"]), str(state)
        if acknowledged == "b c d e":
            side = Table.open(original / "table", branch="side.1")
            assert ids(side.read()) == ["b", "c", "d", "e"], str(state)
        seen.add(acknowledged)
    assert seen == {"b c", "b c d e"}
