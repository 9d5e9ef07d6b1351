"""Hypothesis profiles ``dev``, ``ci`` and ``nightly``, there whenever hypothesis is.

Hypothesis calls ``register`` itself while it is imported (entry point group ``hypothesis``). So
a run without hypothesis pays nothing, and whatever a project registers or loads in its own
``conftest.py`` comes later and wins.
Invariant: a profile is loaded only if ``HYPOTHESIS_PROFILE`` names one of the three. A name that is
unknown here is left to the project that knows it.
"""

from __future__ import annotations

import os

__all__ = ["register"]

_NAMES = ("dev", "ci", "nightly")


def register() -> None:
    """Register the profiles, and load the one that the environment asks for."""
    from hypothesis import HealthCheck, settings  # noqa: PLC0415  # it is being imported just now

    settings.register_profile("dev", max_examples=25, deadline=None, print_blob=True)
    settings.register_profile(
        "ci",
        max_examples=100,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile(
        "nightly",
        max_examples=2_000,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    chosen = os.environ.get("HYPOTHESIS_PROFILE")
    if chosen in _NAMES:
        settings.load_profile(chosen)
