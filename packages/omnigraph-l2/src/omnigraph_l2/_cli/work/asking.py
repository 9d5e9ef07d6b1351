"""What destroys: shown first, and done only with ``--yes``.

Always: the same is told before it is done as when it is not done.
"""

from __future__ import annotations

from typing import Any

from omnigraph_l2._cli.options import Job
from omnigraph_l2._cli.status import DONE, WRONG

__all__ = ["decided"]


def decided(
    job: Job, what: str, document: Any, text: str, *, yes: bool, dry_run: bool = False
) -> int:
    """Tell what would be done, or is about to be; give the exit status of that.

    Not doing what was asked for is wrong usage, unless only telling was asked for.
    """
    done = yes and not dry_run
    if job.out.json:
        job.out.document({"action": what, "done": done, **document})
    else:
        job.out.line((f"{what} " if done else f"would {what} ", "bold"), text)
        if not done:
            job.out.warn("Nothing was done. Say --yes to do it.")
    return DONE if yes or dry_run else WRONG
