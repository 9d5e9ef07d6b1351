"""One of the processes that race on a ref: does what the lines on its input say, all at once.

Run by test_races.py as a script. A line is ``read``, ``probe``, or one of ``create``, ``replace``
and ``delete`` with a number. Each answer is a line: what was read, ``safe``, ``won`` or ``lost``.
"""

# ruff: noqa: T201 - its output is how it answers

from __future__ import annotations

import json
import sys

from omnigraph_l1 import JsonRefs, Storage
from omnigraph_l1.errors import RefChanged, RefExists, RefNotFound

NAME = "contended/ref"


def main() -> None:
    """Obey until the input ends."""
    uri, options, durability = json.loads(sys.argv[1])
    refs = JsonRefs.open(Storage.resolve(uri, options), "_refs/branches", durability=durability)
    me = sys.argv[2]
    ref = refs.get(NAME)
    print("ready", flush=True)
    for line in sys.stdin:
        order, _, number = line.strip().partition(" ")
        if order == "read":
            ref = refs.get(NAME)
            print("none" if ref is None else ref.write_id, flush=True)
            continue
        if order == "probe":
            refs.probe()
            print("safe", flush=True)
            continue
        try:
            if order == "create":
                refs.create(NAME, {"by": me, "round": number})
            elif ref is None:
                raise AssertionError
            elif order == "replace":
                refs.replace(ref, {"by": me, "round": number})
            else:
                refs.delete(ref)
            print("won", flush=True)
        except (RefExists, RefChanged, RefNotFound):
            print("lost", flush=True)


if __name__ == "__main__":
    main()
