"""``explore``: the page in the browser, and the page as a file."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from omnigraph_l2 import _explore as page
from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.times import shown_bytes

__all__ = ["serve", "write"]


def serve(job: Job, port: int, *, opened: bool) -> int:
    """Serve the page until somebody presses Ctrl-C: that is how it ends, and no failure."""
    with job.open() as repo, page.serve(repo, port=port) as server:
        if job.out.json:
            job.out.document({"url": server.url, "port": server.port})
        else:
            job.out.line(server.url)
        job.out.flush()
        job.out.tell("Only this machine can open it, by this address. Ctrl-C ends it.")
        if opened and not webbrowser.open(server.url):
            job.out.warn("No browser could be started: open the address yourself.")
        try:
            server.wait()
        except KeyboardInterrupt:
            job.out.tell("Ended.")
    return 0


def write(job: Job, place: Path, commits: int, rows: int, *, opened: bool) -> int:
    """Write the page to a file."""
    with job.open() as repo:
        job.out.tell("Reading the newest commits …")
        written = page.write_page(repo, place, commits=commits, rows=rows)
    size = written.stat().st_size
    if job.out.json:
        job.out.document({"file": str(written), "bytes": size})
    else:
        job.out.line(f"{written}  {shown_bytes(size)}")
    if opened and not webbrowser.open(written.resolve().as_uri()):
        job.out.warn("No browser could be started: open the file yourself.")
    return 0
