"""The drawing of a graph of commits.

The drawing is pure; its pictures and drawn histories need commits, but no repository.
"""

from __future__ import annotations

from itertools import pairwise
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_l2._cli.actions.log_graph import draw_commits

PICTURES = [
    ("one line", "c:b b:a a:", """
        * c
        * b
        * a
    """),
    ("a branch beside main", "d:b c:b b:a a:", """
        * d
        | * c
        |/
        * b
        * a
    """),
    ("a merge", "m:c,d d:b c:b b:", """
        * m
        |\\
        | * d
        * | c
        |/
        * b
    """),
    ("two merges of one branch", "n:m,e e:d m:c,d d:b c:b b:", """
        * n
        |\\
        | * e
        * | m
        |\\ \\
        | |/
        | * d
        * | c
        |/
        * b
    """),
    ("three branches of one commit", "d:a c:a b:a a:", """
        * d
        | * c
        |/
        | * b
        |/
        * a
    """),
    ("a far column goes home", "e:a d:b c:a b: a:", """
        * e
        | * d
        | | * c
        |_|/
        | * b
        * a
    """),
    ("cut off", "c:b b:a", """
        * c
        * b
    """),
]  # fmt: skip


def _graph(text: str) -> list[tuple[str, list[str]]]:
    return [
        (commit, [each for each in parents.split(",") if each])
        for commit, _, parents in (word.partition(":") for word in text.split())
    ]


def _picture(graph: list[tuple[str, list[str]]]) -> str:
    lines = []
    for line in draw_commits(graph):
        text = f" {line.commit}" if line.commit is not None else ""
        lines.append(f"{line.picture}{text}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "picture"), [each[1:] for each in PICTURES], ids=[each[0] for each in PICTURES]
)
def test_pictures(text: str, picture: str) -> None:
    """They look like those of git."""
    assert _picture(_graph(text)) == dedent(picture).strip()


@st.composite
def _graphs(draw: st.DrawFn) -> list[tuple[str, list[str]]]:
    count = draw(st.integers(1, 12))
    graph = []
    for index in range(count):
        later = [str(each) for each in range(index + 1, count)]
        parents = draw(st.lists(st.sampled_from(later), max_size=2, unique=True)) if later else []
        graph.append((str(index), parents))
    return graph


@given(_graphs())
@settings(max_examples=200, deadline=None)
def test_every_commit_is_drawn_once_and_lines_are_joined(
    graph: list[tuple[str, list[str]]],
) -> None:
    """Each commit has its line, in order; each stroke touches one above it and one below."""
    lines = list(draw_commits(graph))
    assert [each.commit for each in lines if each.commit is not None] == [each for each, _ in graph]
    for line in lines:
        assert line.picture.count("*") == (line.commit is not None)
        assert line.picture == line.picture.rstrip()
    for above, below in pairwise(lines):
        _check_joined(above.picture, below.picture)


def _check_joined(above: str, below: str) -> None:
    """Check that each line from above continues below, straight or to one side."""
    ends = {_down(at, stroke) for at, stroke in enumerate(above) if stroke in "|*/\\"}
    starts = {_up(at, stroke) for at, stroke in enumerate(below) if stroke in "|/\\"}
    assert starts <= ends, (above, below)


def _down(at: int, stroke: str) -> int:
    return at + {"/": -1, "\\": 1}.get(stroke, 0)


def _up(at: int, stroke: str) -> int:
    return at + {"/": 1, "\\": -1}.get(stroke, 0)
