"""Failpoints: how production code names its steps, without paying for it."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from omnigraph_l1 import failpoints
from omnigraph_l1.errors import FailpointMisuse

PACKAGES = Path(__file__).parents[3]
STEP = failpoints.declare("test.failpoints.step", "a step of these tests")


def test_a_listener_hears_each_point_in_order() -> None:
    """Whoever listens is told each point that is passed, as often as it is passed."""
    heard: list[str] = []
    with failpoints.handling(heard.append):
        failpoints.failpoint(STEP)
        failpoints.failpoint(STEP)
    failpoints.failpoint(STEP)
    assert heard == [STEP, STEP]


def test_a_listener_can_break_the_operation() -> None:
    """An exception of the listener comes out at the step, so that failure there can be tried."""

    def refuse(name: str) -> None:
        raise RuntimeError(name)

    with failpoints.handling(refuse), pytest.raises(RuntimeError, match=STEP):
        failpoints.failpoint(STEP)


def test_threads_are_heard_too() -> None:
    """A point that another thread of the process passes is heard."""
    heard: list[str] = []
    with failpoints.handling(heard.append):
        thread = threading.Thread(target=failpoints.failpoint, args=(STEP,))
        thread.start()
        thread.join()
    assert heard == [STEP]


def test_a_typo_fails_as_soon_as_somebody_listens() -> None:
    """A name that nobody declared is an error, not a point that is silently never reached."""
    with (
        failpoints.handling(lambda _name: None),
        pytest.raises(FailpointMisuse, match=r"test\.failpoints\.stpe") as caught,
    ):
        failpoints.failpoint("test.failpoints.stpe")
    assert pickle.loads(pickle.dumps(caught.value)).name == "test.failpoints.stpe"


def test_a_name_means_one_thing() -> None:
    """Declaring a name again is fine with the same description, and refused with another."""
    assert failpoints.declare(STEP, "a step of these tests") == STEP
    with pytest.raises(FailpointMisuse, match="declared already"):
        failpoints.declare(STEP, "something else")
    with pytest.raises(FailpointMisuse, match="no spaces"):
        failpoints.declare("two words", "a bad name")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"report": "r", "colour": 1}'])
def test_a_plan_that_makes_no_sense_is_said_to_be_one(text: str) -> None:
    """A bad value of the environment variable names the variable and what to do."""
    with pytest.raises(FailpointMisuse, match="OMNIGRAPH_FAILPOINTS"):
        failpoints.FailpointPlan.from_text(text)


def test_nobody_listens_unless_asked() -> None:
    """A plain process has no handler, so that a failpoint is one comparison."""
    code = "import omnigraph_l1.failpoints as f; print(f._handler)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout.strip() == "None"


def test_every_point_in_the_packages_is_declared_and_used() -> None:
    """Each ``failpoint("name")`` in our sources has its ``declare``, and the other way round."""
    declared: dict[str, str] = {}
    used: dict[str, str] = {}
    for source in PACKAGES.glob("*/src/**/*.py"):
        for call in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and call.args:
                name = call.func.attr if isinstance(call.func, ast.Attribute) else None
                name = call.func.id if isinstance(call.func, ast.Name) else name
                first = call.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    if name == "declare":
                        declared[first.value] = source.name
                    elif name == "failpoint":
                        used[first.value] = source.name
    undeclared = {name: used[name] for name in used.keys() - declared.keys()}
    assert undeclared == {}
