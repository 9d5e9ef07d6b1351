"""Failpoints in public: how code names its steps, and how a harness listens to them.

Production code uses ``declare`` and ``failpoint``; a test in the same process uses ``handling``;
a harness that starts processes uses ``FailpointPlan`` and ``PLAN_VARIABLE``.
"""

from omnigraph_l1._failpoints import (
    PLAN_VARIABLE,
    FailpointPlan,
    declare,
    declared,
    failpoint,
    handling,
)

__all__ = [
    "PLAN_VARIABLE",
    "FailpointPlan",
    "declare",
    "declared",
    "failpoint",
    "handling",
]
