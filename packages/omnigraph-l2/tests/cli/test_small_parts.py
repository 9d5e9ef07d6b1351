"""Settings, times, escaping, words: what needs no repository."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from omnigraph_l2._cli.escaping import escaped
from omnigraph_l2._cli.output import Output
from omnigraph_l2._cli.settings import settled
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.times import duration_of, moment_of, shown_bytes
from omnigraph_l2._cli.work.load.progress import shown_progress, told_progress
from omnigraph_l2._cli.work.load.rejects import Allowed
from omnigraph_l2._cli.work.load.words import files_by_table, formatted


@given(st.text())
def test_nothing_harmful_is_left(text: str) -> None:
    """No control character, whatever the text; and plain text stays as it is."""
    shown = escaped(text)
    assert not any(ord(each) < 32 or 0x7F <= ord(each) < 0xA0 for each in shown)
    assert not set(shown) & set("\u202e\u2066\u200f\u2028")
    if text.isascii() and text.isprintable():
        assert shown == text


def test_escapes_are_shown() -> None:
    """What a terminal would obey is spelled out."""
    assert escaped("a\x1b[31mred\x07\n\u202e") == "a\\x1b[31mred\\x07\\n\\u202e"


def test_options_win_over_environment_over_file(tmp_path: Path) -> None:
    """Each setting by itself, and each says where it came from."""
    (tmp_path / "omnigraph.toml").write_text(
        'repo = "graph"\nactor = "file"\ndurability = "none"\n[storage]\nregion = "x"\na = "1"\n'
    )
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    found = settled(
        {"actor": "typed"}, ("region=y",), None,
        {"OMNIGRAPH_ACTOR": "around", "OMNIGRAPH_DURABILITY": "full"}, deep,
    )  # fmt: skip
    assert (found.actor, found.durability) == ("typed", "full")
    assert found.repo == str(tmp_path / "graph")
    assert found.storage == {"region": "y", "a": "1"}
    assert found.origins["actor"] == "option"
    assert found.origins["durability"] == "OMNIGRAPH_DURABILITY"
    assert found.origins["repo"] == str(tmp_path / "omnigraph.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("repo = 3", "repo should be text"), ("rep = 'x'", "'rep' is no setting"),
        ("storage = 1", "storage should be a table"), ("repo = ", "no TOML"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    """With its name, and what there is."""
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=told):
        settled({}, (), file, {}, tmp_path)


def test_a_storage_option_that_is_none_is_not_shown(tmp_path: Path) -> None:
    """It may be a secret."""
    with pytest.raises(UsageError) as found:
        settled({}, ("hunter2",), None, {}, tmp_path)
    assert "hunter2" not in str(found.value)


def test_times() -> None:
    """As people write them; without a zone in UTC."""
    utc = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
    assert moment_of("2026-01-31T12:00:00Z") == moment_of("2026-01-31 12:00") == utc
    assert moment_of("2026-01-31T13:00:00+01:00") == utc
    assert duration_of("1.5h") == timedelta(minutes=90)
    assert shown_bytes(1023) == "1023 B"
    assert shown_bytes(1536) == "1.5 KiB"
    for wrong in ("yesterday", "7", "3y"):
        with pytest.raises(UsageError, match=wrong):
            (moment_of if wrong == "yesterday" else duration_of)(wrong)


def test_words_name_tables_and_their_files() -> None:
    """Several tables with several files; a table may come again."""
    words = ["node:A", "a.csv", "b.csv", "edge:E", "e.ndjson", "node:A", "./node:x.csv"]
    assert files_by_table(words) == {
        "node:A": ["a.csv", "b.csv", "./node:x.csv"],
        "edge:E": ["e.ndjson"],
    }
    for wrong in (["node:A"], ["node:A", "/dev/stdin", "/dev/stdin"]):
        with pytest.raises(UsageError):
            files_by_table(wrong)


def test_names_tell_formats() -> None:
    """Compressed ones, too; what was said counts first."""
    assert formatted("a.jsonl.gz", None).format == "ndjson"
    assert formatted("a.jsonl.gz", None).codec == "gzip"
    assert formatted("a.TSV", None).separator == "\t"
    assert formatted("-", "csv").format == "csv"
    for wrong in ("-", "a.doc", "a.parquet.gz"):
        with pytest.raises(UsageError):
            formatted(wrong, None)


def test_how_many_rejects_there_may_be() -> None:
    """A number at once, a share at the end."""
    assert Allowed.of("2").exceeded_by(3, 10, at_end=False)
    assert not Allowed.of("10%").exceeded_by(3, 10, at_end=False)
    assert Allowed.of("10%").exceeded_by(2, 10, at_end=True)
    assert not Allowed.of("10%").exceeded_by(1, 10, at_end=True)
    for wrong in ("-1", "x", "101%", "%"):
        with pytest.raises(UsageError, match="max-rejects"):
            Allowed.of(wrong)


def test_progress_in_words() -> None:
    """How far, how fast, how long still."""
    assert told_progress(25, 100, 1000, 2.0) == "1,000 rows, 500 a second, 25%, 6 s left"
    assert told_progress(1, 5000, 10, 2.0).endswith("2 h 46 min left")
    assert told_progress(0, None, 10, 2.0) == "10 rows, 5 a second"


def test_a_drawn_bar_shows_names_of_files_harmlessly() -> None:
    """They may come from elsewhere, as those of an archive do."""
    shown = io.StringIO()
    out = Output()
    out._err = Console(file=shown, force_terminal=True, width=100)
    with shown_progress(out, 100) as advance:
        advance("node:A \x1b]0;title\x07[red].csv", 50, 5)
    assert "\x1b]0;" not in shown.getvalue()
    assert "\\x1b]0;title\\x07[red].csv" in shown.getvalue()
