"""What a store answered before, so that it can be said again when it is no longer true."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Remembered"]

Answer = TypeVar("Answer")

MOST = 500


class Remembered(Generic[Answer]):
    """The last true answer to each question. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[Hashable, Answer] = {}

    def remember(self, question: Hashable, answer: Answer) -> None:
        """Keep an answer; the one that was kept longest makes room if there are many."""
        with self._lock:
            self._answers.pop(question, None)
            self._answers[question] = answer
            if len(self._answers) > MOST:
                del self._answers[next(iter(self._answers))]

    def recall(self, question: Hashable) -> Answer | None:
        """Return the answer that was kept, or None."""
        with self._lock:
            return self._answers.get(question)
