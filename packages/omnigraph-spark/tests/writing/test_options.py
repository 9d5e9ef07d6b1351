"""The options of a write: read as values, or refused with every problem."""

from __future__ import annotations

import pytest

from omnigraph_spark._options.write_options import parse_write_options
from omnigraph_spark.errors import InvalidOptions

_LEAST = {"path": "/x", "table": "node:Person"}


def test_what_is_read() -> None:
    """All of them; secrets are in no text."""
    found = parse_write_options(
        {
            **_LEAST,
            "BRANCH": "side",
            "write_mode": "Upsert",
            "expected_version": "7",
            "checked": "TRUE",
            "storage.aws_Secret": "hush",
        },
        overwrite=False,
    )
    assert (found.location.uri, found.table, found.branch) == ("/x", "node:Person", "side")
    assert (found.mode, found.expected_version, found.checked) == ("upsert", 7, True)
    assert found.location.storage == {"aws_secret": "hush"}
    assert "hush" not in repr(found)
    assert parse_write_options(_LEAST, overwrite=True).mode == "overwrite"
    assert parse_write_options(_LEAST, overwrite=False).mode == "append"


@pytest.mark.parametrize(
    ("given", "overwrite", "words"),
    [
        ({}, False, ["the location is missing", "'table' is missing"]),
        ({**_LEAST, "tabel": "x"}, False, ["unknown option 'tabel'", "operation_hash"]),
        ({**_LEAST, "write_mode": "merge"}, False, ["'merge': expected append, upsert or delete"]),
        ({**_LEAST, "write_mode": "delete"}, True, ["say mode('append')"]),
        (
            {**_LEAST, "expected_version": "-1", "checked": "yes"},
            False,
            ["'-1': expected", "'yes': expected true or false"],
        ),
    ],
)
def test_what_is_refused(given: dict[str, str], *, overwrite: bool, words: list[str]) -> None:
    """Each problem is named, all at once."""
    with pytest.raises(InvalidOptions) as told:
        parse_write_options(given, overwrite=overwrite)
    assert all(word in str(told.value) for word in words)
