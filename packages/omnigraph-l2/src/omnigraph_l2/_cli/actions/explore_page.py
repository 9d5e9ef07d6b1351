"""``explore``: serve the page to the browser, or write it to a file."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from omnigraph_l2 import _explore as page
from omnigraph_l2._cli.common_options import Job
from omnigraph_l2._cli.human_units import format_bytes

__all__ = ["serve", "write"]


def serve(job: Job, port: int, *, opened: bool) -> int:
    """Serve the page until Ctrl-C, which is not a failure."""
    with job.open() as repo, page.serve(repo, port=port) as server:
        if job.out.json:
            job.out.document({"url": server.url, "port": server.port})
        else:
            job.out.line(server.url)
        job.out.flush()
        job.out.info("Only this machine can open this address. Press Ctrl-C to stop.")
        if opened and not webbrowser.open(server.url):
            job.out.warn("Cannot start a browser: open the address yourself.")
        try:
            server.wait()
        except KeyboardInterrupt:
            job.out.info("Stopped.")
    return 0


def write(job: Job, path: Path, commits: int, rows: int, *, opened: bool) -> int:
    """Write the page to a file."""
    with job.open() as repo:
        job.out.info("Reading the newest commits …")
        written = page.write_page(repo, path, commits=commits, rows=rows)
    size = written.stat().st_size
    if job.out.json:
        job.out.document({"file": str(written), "bytes": size})
    else:
        job.out.line(f"{written}  {format_bytes(size)}")
    if opened and not webbrowser.open(written.resolve().as_uri()):
        job.out.warn("Cannot start a browser: open the file yourself.")
    return 0
