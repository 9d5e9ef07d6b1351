"""Suites that say what an implementation must do: subclass one, override its fixture, run pytest.

Import each from its own module, so that nothing is loaded that is not asked for.
"""

__all__: list[str] = []
