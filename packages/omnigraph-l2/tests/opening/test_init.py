"""Making a repository: what is refused, what a crash leaves, and two that do it at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from racing import race
from repositories import ANOTHER, SCHEMA, assert_whole, init_at_once, init_it, use_it
from sizes import commit_seed, sized

from campaign.traced_crash import TracedCrash
from omnigraph_l1 import failpoints
from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import (
    InvalidLocation,
    InvalidRequest,
    InvalidSchema,
    OmniGraphError,
    RepositoryExists,
    RepositoryNotFound,
)
from omnigraph_testing import Crash, S3Store


def test_a_new_repository(tmp_path: Path) -> None:
    """Its tables are there and empty, and its one commit says who made it, and shows them."""
    repo = Repository.init(tmp_path / "repo", SCHEMA, actor="ann")
    (genesis,) = repo.log()
    assert (genesis.actor_id, genesis.parent_commit_id) == ("ann", None)
    assert repo.snapshot().commit == genesis
    at_genesis = repo.snapshot(commit=genesis.graph_commit_id)
    assert at_genesis.tables == repo.snapshot().tables
    assert at_genesis.read("node:Person").num_rows == 0
    assert repo.snapshot().schema == SCHEMA
    manifest = lance.dataset(str(tmp_path / "repo" / "__manifest"))
    assert manifest.config()["table_version_management"] == "true"
    assert_whole(tmp_path / "repo", ["ann"])


def test_a_repository_without_types(tmp_path: Path) -> None:
    """No types at all make a repository too."""
    Repository.init(tmp_path / "repo").close()
    repo = Repository.open(tmp_path / "repo")
    assert dict(repo.snapshot().tables) == {}
    assert len(repo.log()) == 1


def test_a_repository_is_there(tmp_path: Path) -> None:
    """A second init is refused, with whatever schema, and changes nothing."""
    use_it(str(tmp_path / "repo"))
    before = Repository.open(tmp_path / "repo").log()
    for schema in (SCHEMA, ANOTHER, None):
        with pytest.raises(RepositoryExists, match="a repository"):
            Repository.init(tmp_path / "repo", schema)
    assert Repository.open(tmp_path / "repo").log() == before


@pytest.mark.parametrize("name", ["notes.txt", "nodes/x", "_graph_commits.lance/x", "_turn/x"])
def test_something_else_is_there(tmp_path: Path, name: str) -> None:
    """A location that holds other files is left as it is, also where their names are like ours."""
    path = tmp_path / "repo" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RepositoryExists, match=name.partition("/")[0]):
        Repository.init(tmp_path / "repo", SCHEMA)
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(RepositoryNotFound):
        Repository.open(tmp_path / "repo")


def test_another_dataset_is_in_the_place_of_the_catalog(tmp_path: Path) -> None:
    """It is no repository of ours, and stays."""
    table = pa.table({"object_id": ["a"]})
    lance.write_dataset(table, str(tmp_path / "repo" / "__manifest"))
    with pytest.raises(RepositoryExists):
        Repository.init(tmp_path / "repo", SCHEMA)
    assert lance.dataset(str(tmp_path / "repo" / "__manifest")).to_table() == table


def test_a_file_is_in_the_place_of_the_catalog(tmp_path: Path) -> None:
    """It stays, whether it is the catalog's location or the root's."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "__manifest").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for location in (tmp_path / "repo", tmp_path / "file"):
        with pytest.raises(OmniGraphError):
            Repository.init(location, SCHEMA)
        with pytest.raises(OmniGraphError):
            Repository.open(location)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "call",
    [
        lambda path: Repository.init("", SCHEMA),
        lambda path: Repository.init("ftp://x/y", SCHEMA),
        lambda path: Repository.open("s3://"),
        lambda path: Repository.open(path, {"region": 5, "nonsense option": "x"}),
        lambda path: Repository.open(path, durability="sometimes"),
        lambda path: Repository.init(path, SCHEMA, actor=5),  # type: ignore[arg-type]
        lambda path: Repository.init(path, SCHEMA, actor="\ud800"),
        lambda path: Repository.init(path, {"Person": {}}),  # type: ignore[arg-type]
        lambda path: Repository.open(5),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_make_no_sense(tmp_path: Path, call: Callable[[Path], Any]) -> None:
    """Each is told, typed, before anything is made."""
    with pytest.raises((InvalidLocation, InvalidRequest, InvalidSchema, RepositoryNotFound)):
        call(tmp_path / "repo")
    assert not (tmp_path / "repo").exists()


def test_killed_at_each_point(omnigraph_crash: Crash) -> None:
    """SIGKILL at each declared step: open says so, init again ends it, and all works."""
    trial = omnigraph_crash.directory / "trial"
    trial.mkdir(parents=True)
    declared = {point for point in failpoints.declared() if point.startswith("l2.init.")}
    assert declared <= set(omnigraph_crash.points(init_it, trial))
    for crashed in omnigraph_crash.everywhere(init_it):
        location = crashed.directory / "repo"
        if not (location / "_refs" / "branches" / "main.json").exists():
            with pytest.raises(RepositoryNotFound):
                Repository.open(location)
            if (location / "__manifest" / "_versions").exists():
                with pytest.raises(RepositoryExists, match="another schema"):
                    Repository.init(location, ANOTHER)
            Repository.init(location, SCHEMA, actor="bob").close()
        assert_whole(location, ["ann", "bob"])


def test_killed_at_file_operations(traced_crash: TracedCrash) -> None:
    """The same between any two operations on files, a sample of them."""
    runs = traced_crash.everywhere(
        init_it, by="file operations", limit=sized(4, 8), seed=commit_seed()
    )
    for crashed in runs:
        location = crashed.directory / "repo"
        try:
            Repository.open(location).close()
        except RepositoryNotFound:
            Repository.init(location, SCHEMA, actor="bob").close()
        assert_whole(location, ["ann", "bob"])


def assert_one_wins(places: list[str], options: dict[str, str], second: GraphSchema) -> None:
    """Let two processes make each repository at once: one wins, the other is told."""
    who = ((SCHEMA, "ann"), (second, "bob"))
    racers = [(places, options, schema, name) for schema, name in who]
    told = [answer for each in race(init_at_once, racers) for answer in each]
    assert len(told) == 2 * len(places)
    for location in places:
        outcome = sorted((how, name) for where, name, how in told if where == location)
        hows = [how.partition(":")[0] for how, _ in outcome]
        assert hows == ["RepositoryExists", "made"], outcome
        repo = Repository.open(location, options)
        assert repo.snapshot().schema == (SCHEMA if outcome[1][1] == "ann" else second)
        if repo.snapshot().schema == SCHEMA:
            assert_whole(location, ["ann", "bob"], options)


@pytest.mark.integration
@pytest.mark.parametrize("second", [SCHEMA, ANOTHER], ids=["same schema", "another schema"])
def test_two_at_once(tmp_path: Path, second: GraphSchema) -> None:
    """One wins, the other is told, and the repository is whole."""
    assert_one_wins([str(tmp_path / f"repo{number}") for number in range(5)], {}, second)


@pytest.mark.parametrize("second", [SCHEMA, ANOTHER], ids=["same schema", "another schema"])
def test_two_at_once_in_a_store(s3_store: S3Store, second: GraphSchema) -> None:
    """The same where only conditional writes decide."""
    places = [s3_store.uri(f"repo{number}") for number in range(2)]
    assert_one_wins(places, dict(s3_store.storage_options), second)


@pytest.mark.parametrize(
    ("schema", "problems"),
    [
        (
            GraphSchema(
                nodes=[NodeType("A", {"x": pa.large_string(), "id": pa.string()}), NodeType("")],
                edges=[EdgeType("E", "Nope", "A", {"a.b": "text"}, required=["q"])],  # type: ignore[dict-item]
            ),
            ["'x' of 'A'", "'id' of 'A'", "needs a name", "'a.b' of 'E'", "pyarrow type", "'q'"],
        ),
        (
            GraphSchema(nodes=[NodeType("A"), NodeType("a"), NodeType("B"), NodeType("B")]),
            ["only by case", "twice"],
        ),
        (
            GraphSchema(nodes=[NodeType("A")], edges=[EdgeType("E", "B", "C")]),
            ["'B'", "'C'"],
        ),
        (
            GraphSchema(
                nodes=[NodeType("A$", {"x": pa.string()}), NodeType("B", {"y": pa.null()})],
                edges=[EdgeType("E", "A$", "Z")],
            ),
            ["'A$'", "'y' of 'B'", "'Z'"],
        ),
        *(
            (GraphSchema(nodes=[NodeType("A", {"x": type_})]), ["'x' of 'A'"])
            for type_ in (
                pa.decimal32(5, 2),
                pa.decimal64(12, 2),
                pa.month_day_nano_interval(),
                pa.list_view(pa.int8()),
                pa.run_end_encoded(pa.int32(), pa.int8()),
                pa.dense_union([pa.field("a", pa.int8())]),
                pa.list_(pa.int8(), 0),
                pa.list_(pa.struct([("a", pa.int8())]), 2),
                pa.struct([("a", pa.int8()), ("a", pa.int8())]),
                pa.list_(pa.decimal32(5, 2)),
                pa.dictionary(pa.int8(), pa.string()),
            )
        ),
        (GraphSchema(nodes=[NodeType(5)]), ["needs a name"]),  # type: ignore[arg-type]
        (GraphSchema(nodes=[NodeType("A", {5: pa.int8()})]), ["needs a name"]),  # type: ignore[dict-item]
        (GraphSchema(nodes=[NodeType("\ud800")]), ["cannot name a type"]),
    ],
)
def test_schemas_that_cannot_be_stored(
    tmp_path: Path, schema: GraphSchema, problems: list[str]
) -> None:
    """All problems are told at once, and nothing was made."""
    with pytest.raises(InvalidSchema) as raised:
        Repository.init(tmp_path / "repo", schema)
    for words in problems:
        assert any(words in each for each in raised.value.problems), (words, raised.value.problems)
    assert not (tmp_path / "repo").exists()


def test_every_type_that_can_be_stored(tmp_path: Path) -> None:
    """Rich types go there and back, also when a creation is done again."""
    properties = {
        "f": pa.float16(),
        "b": pa.large_binary(),
        "d": pa.decimal256(40, 2),
        "t": pa.timestamp("ns", "Europe/Oslo"),
        "u": pa.duration("ms"),
        "l": pa.list_(pa.field("element", pa.struct([("x", pa.int8())]))),
        "v": pa.list_(pa.float32(), 4),
        "m": pa.map_(pa.string(), pa.int32()),
        "人 x": pa.bool_(),
    }
    schema = GraphSchema(nodes=[NodeType("Ü 人", properties, required=["f"])])
    repo = Repository.init(tmp_path / "repo", schema)
    assert repo.snapshot().schema == schema
