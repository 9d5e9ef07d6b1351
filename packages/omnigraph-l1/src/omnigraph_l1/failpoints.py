"""Named steps of an operation, so that a test can stop a real process exactly there.

``declare`` announces a name once, where the module that owns the step is loaded; ``failpoint``
marks the step itself. Invariant: without a listener a failpoint is one comparison with None, no
environment is read and no name is checked. A process that finds ``OMNIGRAPH_FAILPOINTS`` in its
environment when this module is imported appends each point that it passes to the named report,
and kills itself with SIGKILL at the wanted hit of the wanted point. A point that is reached
without having been declared is an error as soon as there is a listener.

Who starts such processes, and what is done with the report, is no business of this module:
that is ``omnigraph_testing``.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import attrs

from omnigraph_l1._text_encoding import decode_json, encode_json
from omnigraph_l1.errors import FailpointMisuse

__all__ = [
    "PLAN_VARIABLE",
    "FailpointPlan",
    "declare",
    "declared",
    "failpoint",
    "handling",
]

PLAN_VARIABLE = "OMNIGRAPH_FAILPOINTS"

_declared: dict[str, str] = {}
_handler: Callable[[str], None] | None = None


def declare(name: str, description: str) -> str:
    """Announce a failpoint, and what has been done when it is reached. Gives the name back."""
    if not name or any(character.isspace() for character in name):
        raise FailpointMisuse(name=name, reason="a name has at least one character and no spaces")
    known = _declared.setdefault(name, description)
    if known != description:
        raise FailpointMisuse(name=name, reason=f"it is declared already, as {known!r}")
    return name


def declared() -> Mapping[str, str]:
    """Return every name that the loaded modules have declared, with its description."""
    return MappingProxyType(_declared)


def failpoint(name: str) -> None:
    """Mark a step. Costs next to nothing without a listener."""
    if _handler is None:
        return
    if name not in _declared:
        raise FailpointMisuse(name=name, reason="it was reached but never declared")
    _handler(name)


@contextmanager
def handling(handler: Callable[[str], None]) -> Iterator[None]:
    """Call ``handler`` with the name of each point that this process passes, in any thread.

    An exception that the handler raises comes out of the operation at that step.
    """
    global _handler  # noqa: PLW0603 - one listener a process, checked on a hot path
    before, _handler = _handler, handler
    try:
        yield
    finally:
        _handler = before


@attrs.frozen(kw_only=True)
class FailpointPlan:
    """What a process under test shall do: where to report, and where to die, if anywhere."""

    report: str
    kill_at: str | None = None
    hit: int = 1

    def to_text(self) -> str:
        """Write the plan as the value of the environment variable."""
        return encode_json(attrs.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> FailpointPlan:
        """Read the value of the environment variable."""
        try:
            found = decode_json(text)
            plan = cls(**found)
        except (TypeError, ValueError) as error:
            reason = f"the value of {PLAN_VARIABLE} is not a plan ({error}); unset it"
            raise FailpointMisuse(name=text[:80], reason=reason) from error
        return plan


class _Reporter:
    """Carries a plan out: one line appended for each point, and SIGKILL where it says so."""

    def __init__(self, plan: FailpointPlan) -> None:
        self._plan = plan
        self._hits: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        with self._lock:
            self._hits[name] += 1
            hit = self._hits[name]
            line = encode_json({"point": name, "hit": hit, "pid": os.getpid()}) + "\n"
            self._append(line.encode())
            if name == self._plan.kill_at and hit == self._plan.hit:
                os.kill(os.getpid(), signal.SIGKILL)

    def _append(self, line: bytes) -> None:
        # Opened each time: a descriptor kept open could be closed by the code under test.
        descriptor = os.open(self._plan.report, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def _listen_if_asked() -> None:
    global _handler  # noqa: PLW0603 - see ``handling``
    text = os.environ.get(PLAN_VARIABLE)
    if text is not None:
        _handler = _Reporter(FailpointPlan.from_text(text))


_listen_if_asked()
