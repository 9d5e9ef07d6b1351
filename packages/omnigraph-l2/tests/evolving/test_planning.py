"""The plan of a schema change.

The planner is pure: each case is a schema and row counts, where ``repo.plan_evolution`` needs a
repository that has them.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from graphs import COMPANY, KNOWS, PERSON, SCHEMA, WORKS, with_types

from omnigraph_l1 import table_path
from omnigraph_l2 import EdgeType, EvolvePlan, GraphSchema, NodeType
from omnigraph_l2._evolve.evolve_plan import Present, plan_evolution
from omnigraph_l2.errors import InvalidSchema
from omnigraph_l2.schema_changes import AddProperty, AddType, ChangeEnds, DropProperty, DropType

OLDER = NodeType("Person", PERSON.properties, required=["age"])
ROWS = {"node:Person": 2, "node:Company": 1, "edge:Knows": 1, "edge:Works": 0}


def present(
    schema: GraphSchema = SCHEMA, *, dropped: tuple[str, ...] = (), **counts: int
) -> Present:
    """Say what is there. Counts are given as ``Person=0``."""
    rows = {
        each.table_key: counts.get(each.name, ROWS.get(each.table_key, 0)) for each in schema.types
    }
    return Present(
        schema=schema,
        rows=rows,
        registered={key: table_path(key) for key in (*rows, *dropped)},
    )


def problems(before: Present, wanted: GraphSchema) -> tuple[str, ...]:
    """Give why it cannot be done."""
    with pytest.raises(InvalidSchema) as caught:
        plan_evolution(before, wanted)
    return caught.value.problems


def test_the_same_schema_is_an_empty_plan() -> None:
    """The order of types, properties and required names does not count."""
    turned = GraphSchema(
        nodes=[COMPANY, NodeType("Person", {"age": pa.int32(), "name": pa.string()})],
        edges=[WORKS, KNOWS],
    )
    plan = plan_evolution(present(), turned)
    assert plan == EvolvePlan()
    assert plan.is_empty
    assert str(plan) == "Nothing is to be done."


def test_steps_come_in_an_order_that_can_be_read() -> None:
    """Drops first, nodes before edges among what is added, properties last."""
    wanted = with_types(
        NodeType("Person", {"name": pa.string(), "nick": pa.string()}),
        NodeType("Pet", {"name": pa.string()}, required=["name"]),
        EdgeType("Owns", "Person", "Pet"),
        without=("node:Company", "edge:Works"),
    )
    plan = plan_evolution(present(dropped=("node:Pet",)), wanted)
    assert plan.steps == (
        DropType(table_key="edge:Works"),
        DropType(table_key="node:Company"),
        AddType(table_key="node:Pet", declared=wanted["node:Pet"]),
        AddType(table_key="edge:Owns", declared=wanted["edge:Owns"]),
        DropProperty(table_key="node:Person", name="age", type=pa.int32()),
        AddProperty(table_key="node:Person", name="nick", type=pa.string()),
    )
    assert not plan.is_empty


def test_a_plan_reads_in_plain_words() -> None:
    """Each step says what is lost by it; what looks like a rename is told to be none."""
    wanted = with_types(
        NodeType("Person", {"name": pa.string(), "years": pa.int32()}),
        NodeType("Firm", {"name": pa.string()}, required=["name"]),
        EdgeType("Works", "Person", "Firm"),
        without=("node:Company",),
    )
    plan = plan_evolution(present(dropped=("node:Firm",)), wanted)
    assert str(plan).splitlines() == [
        "1. drop node type 'Company' and its 1 row; only older snapshots keep them",
        "2. add node type 'Firm' (name: string, required); it was dropped before, and starts empty",
        (
            "3. drop property 'age' (int32) of node type 'Person', with its values in 2 rows; only "
            "older snapshots keep them"
        ),
        (
            "4. add property 'years' (int32) to node type 'Person'; it is null in the rows that "
            "are there (2)"
        ),
        "5. let edge type 'Works', which has no edges, go from 'Person' to 'Firm'",
        (
            "Note: a type cannot be renamed: no row of node type 'Company' goes over to node type "
            "'Firm'. To keep rows, add first, copy them, and drop then"
        ),
        (
            "Note: a property cannot be renamed: no value of 'age' of node type 'Person' goes over "
            "to 'years'. To keep values, add first, copy them, and drop then"
        ),
    ]


def test_nothing_is_noted_where_nothing_is_lost() -> None:
    """An empty table has no values that a rename would lose."""
    wanted = with_types(NodeType("Person", {"name": pa.string(), "years": pa.int32()}))
    assert plan_evolution(present(Person=0), wanted).notes == ()
    assert len(plan_evolution(present(), wanted).notes) == 1


def test_how_many_rows_there_are_is_no_part_of_the_plan() -> None:
    """Else a writer at work would make each plan another one."""
    wanted = with_types(without=("edge:Knows",))
    assert plan_evolution(present(), wanted) == plan_evolution(present(Knows=7), wanted)


REFUSED = {
    "another type of a property": (
        with_types(NodeType("Person", {"name": pa.large_binary(), "age": pa.int32()})),
        ["property 'name' of node type 'Person' is string and cannot become large_binary"],
    ),
    "a new property that is required": (
        with_types(
            NodeType(
                "Person",
                {"name": pa.string(), "age": pa.int32(), "mail": pa.string()},
                required=["mail"],
            )
        ),
        ["property 'mail' of node type 'Person' is new and required"],
    ),
    "a property becomes required": (
        with_types(OLDER),
        ["property 'age' of node type 'Person' may be null, and cannot become required"],
    ),
    "other ends of an edge type with edges": (
        with_types(EdgeType("Knows", "Person", "Company", KNOWS.properties)),
        [
            (
                "edge type 'Knows' has 1 row, so it cannot go from 'Person' to 'Company' instead "
                "of from 'Person' to 'Person'"
            )
        ],
    ),
    "any ends of an edge type with edges": (
        with_types(EdgeType("Knows", None, "Person", KNOWS.properties)),
        ["edge type 'Knows' has 1 row, so it cannot go from any node type to 'Person' instead of"],
    ),
    "a node type that an edge type ends at": (
        with_types(without=("node:Company",)),
        ["edge type 'Works' ends at 'Company', which is no node type here; declare it, or leave"],
    ),
    "a name that differs by case from one that is here": (
        with_types(NodeType("person"), without=("node:Person", "edge:Knows", "edge:Works")),
        ["node type 'person' differs only by case from node type 'Person', which is here"],
    ),
    "a name that differs by case from one that was dropped": (
        with_types(NodeType("ANIMAL")),
        ["node type 'ANIMAL' differs only by case from node type 'Animal', which was dropped"],
    ),
    "a name that cannot be stored": (
        with_types(NodeType("a$b")),
        ["'a$b' cannot name a type"],
    ),
    "a type that cannot be stored": (
        with_types(NodeType("Pet", {"name": pa.large_string(), "id": pa.string()})),
        [
            "property 'name' of 'Pet' has the type large_string; declare it as string",
            "property 'id' of 'Pet' has a name that every such table has already",
        ],
    ),
}


@pytest.mark.parametrize(("wanted", "reasons"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_done_safely_is_refused(wanted: GraphSchema, reasons: list[str]) -> None:
    """With the reason, and with what to do instead."""
    found = problems(present(dropped=("node:Animal",)), wanted)
    assert len(found) == len(reasons), found
    for reason in reasons:
        assert any(problem.startswith(reason) for problem in found), found


def test_a_required_property_stays_required() -> None:
    """Lance would have to change a column that readers rely on."""
    before = present(with_types(OLDER))
    (problem,) = problems(before, SCHEMA)
    assert problem.startswith("property 'age' of node type 'Person' is required, and stays so")


def test_every_problem_is_told_at_once() -> None:
    """One try is enough to see them all."""
    wanted = with_types(
        NodeType(
            "Person",
            {"name": pa.int8(), "age": pa.int32(), "q": pa.string()},
            required=["q", "age"],
        ),
        EdgeType("Knows", "Person", "Nobody"),
    )
    assert len(problems(present(), wanted)) == 5


def test_two_names_with_one_hash_are_refused() -> None:
    """A collision of FNV-1a is hard to find, so the path of a dropped type is made up."""
    wanted = with_types(NodeType("Pet"))
    before = present()
    collided = Present(
        schema=before.schema,
        rows=before.rows,
        registered={**before.registered, "node:Other": table_path("node:Pet")},
    )
    (problem,) = problems(collided, wanted)
    assert problem.startswith("node type 'Pet' has the same hash as node type 'Other'")


def test_ends_change_where_there_are_no_edges() -> None:
    """Nobody is left without a node."""
    wanted = with_types(EdgeType("Works", "Company", None))
    assert plan_evolution(present(), wanted).steps == (
        ChangeEnds(table_key="edge:Works", source="Company", target=None),
    )


def test_nodes_stay_while_edges_may_end_anywhere() -> None:
    """Where the ends of an edge type are not known, its edges may be at any node."""
    somewhere = EdgeType("Somewhere", None, None)
    schema = with_types(somewhere, without=("edge:Works",))
    wanted = with_types(somewhere, without=("edge:Works", "node:Company"))
    (problem,) = problems(present(schema, Somewhere=3), wanted)
    assert problem.startswith("edge type 'Somewhere' has 3 rows that may end at any node, so node")
    empty = plan_evolution(present(schema, Somewhere=0), wanted)
    assert empty.relies_on == ("edge:Somewhere",)
    assert not plan_evolution(present(schema, Somewhere=3, Company=0), wanted).is_empty


def test_what_is_stored_already_is_taken_as_it_is() -> None:
    """A table that others wrote may have columns that we would not declare."""
    foreign = NodeType("Foreign", {"text": pa.large_string()})
    before = present(with_types(foreign))
    wanted = with_types(foreign, NodeType("Pet"))
    assert [str(step) for step in plan_evolution(before, wanted).steps] == [
        "add node type 'Pet' (no properties)"
    ]
