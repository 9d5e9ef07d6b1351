"""One table, several writers, no server: what omnigraph-l1 does, shown on your own disk.

Run it with ``python3 dev.py demo``. It leaves the table behind, to play with.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pyarrow as pa

from omnigraph_l1 import Table, unique_branch_name
from omnigraph_l1.errors import CommitConflict

HERE = Path("omnigraph-demo")
PEOPLE = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("city", pa.string())])


def people(*rows: tuple[str, str]) -> pa.Table:
    """Make rows."""
    return pa.Table.from_pylist([{"id": name, "city": city} for name, city in rows], schema=PEOPLE)


def say(text: str) -> None:
    """Tell what comes next."""
    print(f"\n● {text}")


def write_and_die(place: Path) -> None:
    """Stage rows, and be killed before they are committed."""
    Table.open(place).stage_append(people(("ghost", "Nowhere")))
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Tell the story."""
    shutil.rmtree(HERE, ignore_errors=True)
    place = HERE / "people"

    say("A table, and two versions of it. An acknowledged commit is on the platter (fsync).")
    table = Table.create(place, PEOPLE)
    table = table.append(people(("ann", "Oslo"), ("bob", "Rome"))).table
    table = table.upsert(people(("bob", "Paris"), ("cat", "Riga")), key="id").table
    print(f"  version {table.version}:", table.read().to_pylist())
    print("  version 2:", table.at(2).read().to_pylist())

    say("Somebody commits in between. The commit lands, and says whose rows it stands on.")
    theirs = table.append(people(("dan", "Bern")))
    ours = table.append(people(("eve", "Lyon")))
    print(f"  theirs: version {theirs.version}, follows its base: {theirs.follows_base}")
    print(f"  ours:   version {ours.version}, follows its base: {ours.follows_base}")

    say("Two changes of the same row. The second is refused, with an error that says what helps.")
    table = table.refresh()
    staged = table.stage_upsert(people(("ann", "Bonn")), key="id")
    table.upsert(people(("ann", "Graz")), key="id")
    try:
        table.commit(staged)
    except CommitConflict as conflict:
        print(f"  {conflict.resolution.value}: {conflict.resolution.advice}")

    say("A process is killed (SIGKILL) with rows written but not committed.")
    process = multiprocessing.get_context("spawn").Process(target=write_and_die, args=(place,))
    process.start()
    process.join()
    table = table.refresh()
    print(f"  exit {process.exitcode}; rows of the ghost:", table.count("id = 'ghost'"))

    say("A branch costs no copy. What happens there is not seen here.")
    branch = table.fork(unique_branch_name("what-if"), fresh=True)
    branch = branch.delete("city = 'Paris'").table
    print(f"  on {branch.branch}: {branch.count()} rows; on main: {table.refresh().count()}")

    say("Back to version 2, as a new version: nothing that was there is lost.")
    table = table.restore(2).table
    print(f"  version {table.version}:", table.read().to_pylist())

    print(f"\nThe table is in {place}. Look at it:")
    print("  .nox/demo/bin/python")
    print(f"  >>> from omnigraph_l1 import Table; table = Table.open({str(place)!r})")
    print("  >>> table.versions(), table.branches(), table.read().to_pylist()")


if __name__ == "__main__":
    main()
