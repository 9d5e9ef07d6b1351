"""Faults on demand: stores that fail, processes that die, histories that must have an order.

The names are in ``__init__.pyi``. Each is imported when it is first used: pytest imports this
package in every run, and must not pay for what no test asks for.
"""

from omnigraph_testing._lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__, __file__)
