"""One of the processes that race on a ref: does what the lines on its input say, all at once.

Run by test_races.py as a script. A line is ``read``, ``probe``, or one of ``create``, ``replace``
and ``delete`` with a number. Each answer is a line: what was read, ``safe``, ``won``, ``lost`` or
``unknown``. Each call is recorded in a journal, too.
"""

# ruff: noqa: T201 - its output is how it answers

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[4]))  # for campaign

from _recorded import RecordedRefs

from omnigraph_l1 import JsonRefs, Storage
from omnigraph_testing.histories import Outcome

NAME = "contended/ref"
SAID = {Outcome.OK: "won", Outcome.FAILED: "lost", Outcome.UNKNOWN: "unknown"}


def main() -> None:
    """Obey until the input ends."""
    uri, options, durability, journals = json.loads(sys.argv[1])
    refs = JsonRefs.open(Storage.resolve(uri, options), "_refs/branches", durability=durability)
    me = sys.argv[2]
    recorded = RecordedRefs(refs, NAME, journals, me)
    ref = recorded.read()
    print("ready", flush=True)
    for line in sys.stdin:
        order, _, number = line.strip().partition(" ")
        value: dict[str, object] = {"by": me, "round": number}
        if order == "read":
            ref = recorded.read()
            print("none" if ref is None else ref.write_id, flush=True)
        elif order == "probe":
            refs.probe()
            print("safe", flush=True)
        elif order == "create":
            print(SAID[recorded.create(value)], flush=True)
        else:
            assert ref is not None
            known = recorded.replace(ref, value) if order == "replace" else recorded.delete(ref)
            print(SAID[known], flush=True)


if __name__ == "__main__":
    main()
