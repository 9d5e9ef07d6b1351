"""The errors of tracing."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_testing.errors import OmniGraphTestingError

__all__ = ["TracingUnavailable", "Untraceable"]


@define(kw_only=True, slots=False)
class TracingUnavailable(OmniGraphTestingError):
    """File operations of a process cannot be traced on this machine."""

    kind: ClassVar[str] = "tracing_unavailable"
    reason: str

    def __str__(self) -> str:
        return (
            f"Tracing of file operations is unavailable: {self.reason}. It needs Linux 5.3 or "
            "later on x86_64 or aarch64, with ptrace and seccomp allowed (in a container: "
            "--cap-add=SYS_PTRACE --security-opt seccomp=unconfined where the default forbids "
            "them)."
        )


@define(kw_only=True, slots=False)
class Untraceable(OmniGraphTestingError):
    """A process changed a file in a way that cannot be recorded, so the trace would be wrong."""

    kind: ClassVar[str] = "untraceable"
    path: str
    reason: str

    def __str__(self) -> str:
        return (
            f"A change of {self.path} cannot be recorded: {self.reason}. Leave this file outside "
            "the recorded root, or write it by other means."
        )
