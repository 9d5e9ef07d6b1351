"""Calling the predicates of rules, which are code of the test's and may do anything.

One may ask the very store that its rule is about. That request is put to the predicate in turn, so
it has to come to an end: where it does not, that is said, before stacks and sockets are used up.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar

from omnigraph_testing._faults.fault_rule import Rule
from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing.errors import EndlessPredicate

__all__ = ["Predicates"]

DEEPEST = 10
MOST_AT_ONCE = 100

_depth: ContextVar[int] = ContextVar("depth of predicates", default=0)


class Predicates:
    """Those of one set of rules. Safe between threads.

    How deep a call stands within others is known where they are in one thread, or in those that it
    started. A request over HTTP comes from nowhere: there, too many calls at once stand for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0

    def matches(self, rule: Rule, operation: Operation) -> bool:
        """Return whether the rule is about the operation. Raises ``EndlessPredicate``."""
        if rule.predicate is None or not rule.covers(operation):
            return rule.matches(operation)
        depth = _depth.get() + 1
        with self._lock:
            if depth > DEEPEST or self._under_way >= MOST_AT_ONCE:
                raise EndlessPredicate(operation=str(operation), depth=max(depth, self._under_way))
            self._under_way += 1
        token = _depth.set(depth)
        try:
            return rule.matches(operation)
        finally:
            _depth.reset(token)
            with self._lock:
                self._under_way -= 1
