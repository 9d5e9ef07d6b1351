"""The pytest plugin: fixtures by name, and nothing heavy imported until one is asked for."""

from __future__ import annotations

__all__: list[str] = []
