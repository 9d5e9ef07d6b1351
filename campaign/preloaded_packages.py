"""What the server of ``forked_processes`` imports before it forks."""

import warnings

import pytest

import omnigraph_l2.namespace  # it imports all that a repository needs, and most of Lance
import omnigraph_testing

__all__ = ["omnigraph_l2", "omnigraph_testing", "pytest"]

# Lance means the threads that it starts when it is first used. This process never uses it.
warnings.filterwarnings("ignore", message="lance is not fork-safe")
