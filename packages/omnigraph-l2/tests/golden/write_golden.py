"""Write the golden repositories: ``python write_golden.py [NAME …]``.

This documents how the archives were made; no test runs it. They were written by the code of commit
7c4561f, before issue 15 restructured it. Do not write them again with later code: what an old
program wrote is the point. To add one, add its history, and write it alone, by its name.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "opening"))

from golden_copies import ARCHIVES, PLACE
from golden_description import describe
from golden_histories import HISTORIES, interrupt

from omnigraph_l2 import Repository


def write(name: str, written_by: str) -> None:
    """Write one repository, its archive, and then its description."""
    uri = PLACE / name
    shutil.rmtree(uri, ignore_errors=True)
    PLACE.mkdir(exist_ok=True)
    notes = HISTORIES[name](uri)
    with tarfile.open(ARCHIVES / f"{name}.tar.xz", "w:xz", preset=9) as archive:
        archive.add(uri, name, filter=_anonymous)
    with Repository.open(uri, durability="none") as repo:
        description = describe(repo, notes["archived"])
    document = {"written_by": written_by, "covers": _covers(name), **notes, **description}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (ARCHIVES / f"{name}.json").write_text(text + "\n")
    shutil.rmtree(uri)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _covers(name: str) -> str:
    return (HISTORIES[name].__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--interrupt"]:
        interrupt(*sys.argv[2:])
    else:
        head = ["git", "rev-parse", "--short=7", "HEAD"]
        commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
        ARCHIVES.mkdir(exist_ok=True)
        for each in sys.argv[1:] or HISTORIES:
            write(each, commit)
