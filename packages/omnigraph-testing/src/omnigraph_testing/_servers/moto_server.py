"""Run moto's server, one request at a time: ``python -m omnigraph_testing._servers.moto_server``.

Invariant: conditional writes are atomic. Moto compares and writes in two steps and answers requests
in threads, so that two of them could both have won.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import moto.server
from moto.moto_server.werkzeug_app import DomainDispatcherApplication

__all__ = ["main"]

_one_at_a_time = threading.Lock()


class _Application(DomainDispatcherApplication):
    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with _one_at_a_time:
            answer: Iterable[bytes] = super().__call__(environ, start_response)
            return answer


def main() -> None:
    """Run it with the arguments of moto's own program."""
    server: Any = moto.server
    server.DomainDispatcherApplication = _Application
    server.main()


if __name__ == "__main__":
    main()
