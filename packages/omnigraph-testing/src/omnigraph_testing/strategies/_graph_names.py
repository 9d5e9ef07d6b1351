"""Names: of types and of branches, good ones and bad ones.

Invariant: Lance accepts every one of ``branch_names`` on local disk and in an object store, and
refuses every one of ``invalid_branch_names``. Nothing is normalised: é of one and of two code
points are two names, and the second is refused for a branch.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["branch_names", "invalid_branch_names", "type_names"]

_Category = Literal["Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No"]
_LETTERS: tuple[_Category, ...] = ("Lu", "Ll", "Lt", "Lm", "Lo")
_NUMBERS: tuple[_Category, ...] = ("Nd", "Nl", "No")
# Lance keeps a branch on local disk in a file of this name, percent-encoded twice, and while it
# writes it adds 44 characters; a ulid at the end of the name takes 27 more. 255 is the most.
_LONGEST_FILE_NAME = 180
_REFUSED_CHARACTERS = " \t\n\0~^:?*[]{}@+%#&'\"<>|;,!$()=\\\u0301\u202e\u200b\U0001f600"


def type_names() -> SearchStrategy[str]:
    """Names of node and edge types and of properties: letters of any script, digits, ``_``."""
    first = st.characters(categories=_LETTERS)
    rest = st.text(st.characters(categories=(*_LETTERS, *_NUMBERS), include_characters="_"))
    usual = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,14}", fullmatch=True)
    return usual | st.builds(lambda head, tail: head + tail[:14], first, rest)


def branch_names() -> SearchStrategy[str]:
    """Names that Lance takes for a branch: segments of letters, digits, ``.``, ``-`` and ``_``."""
    plain = st.text("abcxyzABC0189._-", min_size=1, max_size=12)
    any_script = st.text(
        st.characters(categories=(*_LETTERS, *_NUMBERS), include_characters="._-"),
        min_size=1,
        max_size=6,
    )
    segments = st.lists(plain | any_script, min_size=1, max_size=3)
    return segments.map("/".join).filter(_is_good)


def _is_good(name: str) -> bool:
    return (
        name.split("/", maxsplit=1)[0] != "main"
        and ".." not in name
        and not name.endswith(".lock")
        and "." not in name.split("/")
        and len(quote(quote(name, safe=""), safe="")) <= _LONGEST_FILE_NAME
    )


def invalid_branch_names() -> SearchStrategy[str]:
    """Names that Lance refuses for a branch, each for one reason."""
    good = branch_names()
    return st.one_of(
        st.sampled_from(["", "main", ".", "..", "/", "//"]),
        good.map(lambda name: name + ".lock"),
        good.map(lambda name: name + "/"),
        good.map(lambda name: "/" + name),
        st.builds(lambda one, other: f"{one}//{other}", good, good),
        st.builds(lambda one, other: f"{one}..{other}", good, good),
        st.builds(
            lambda name, bad: name + bad + "x", good, st.sampled_from(list(_REFUSED_CHARACTERS))
        ),
    )
