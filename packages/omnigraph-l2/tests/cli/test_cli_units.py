"""Settings, times, escaping and arguments: what needs no repository.

They are pure functions of the command line; its tests with a repository are in the other modules.
"""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from cli_run import RunCommand
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from omnigraph_l2._cli.actions.load_progress import progress_text, show_progress
from omnigraph_l2._cli.actions.rejected_rows import Allowed
from omnigraph_l2._cli.exit_status import UsageError
from omnigraph_l2._cli.formats.input_files import group_files, parse_file_name
from omnigraph_l2._cli.human_units import format_bytes, parse_duration, parse_time
from omnigraph_l2._cli.program_settings import resolve_settings
from omnigraph_l2._cli.terminal_output import Output, escape


@given(st.text())
def test_nothing_harmful_is_left(text: str) -> None:
    """No control character is left, and plain text is unchanged."""
    shown = escape(text)
    assert not any(ord(each) < 32 or 0x7F <= ord(each) < 0xA0 for each in shown)
    assert not set(shown) & set("\u202e\u2066\u200f\u2028")
    if text.isascii() and text.isprintable():
        assert shown == text


def test_escapes_are_shown() -> None:
    """Control characters are escaped."""
    assert escape("a\x1b[31mred\x07\n\u202e") == "a\\x1b[31mred\\x07\\n\\u202e"


def test_options_win_over_environment_over_file(tmp_path: Path) -> None:
    """Each setting is resolved by itself and has its origin."""
    (tmp_path / "omnigraph.toml").write_text(
        'repo = "graph"\nactor = "file"\ndurability = "none"\n[storage]\nregion = "x"\na = "1"\n'
    )
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    found = resolve_settings(
        {"actor": "arguments"}, ("region=y",), None,
        {"OMNIGRAPH_ACTOR": "around", "OMNIGRAPH_DURABILITY": "full"}, deep,
    )  # fmt: skip
    assert (found.actor, found.durability) == ("arguments", "full")
    assert found.repo == str(tmp_path / "graph")
    assert found.storage == {"region": "y", "a": "1"}
    assert found.origins["actor"] == "option"
    assert found.origins["durability"] == "OMNIGRAPH_DURABILITY"
    assert found.origins["repo"] == str(tmp_path / "omnigraph.toml")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("repo = 3", "repo must be a string"), ("rep = 'x'", "unknown setting 'rep'"),
        ("storage = 1", "storage must be a table"), ("repo = ", "Invalid TOML"),
    ],
)  # fmt: skip
def test_an_invalid_settings_file_is_reported(
    og: RunCommand, tmp_path: Path, text: str, problem: str
) -> None:
    """With the name of the file."""
    file = tmp_path / "mine.toml"
    file.write_text(text)
    failed = og("tables", "--config", str(file), status=2)
    assert problem in failed.err
    assert str(file) in failed.err


def test_an_invalid_storage_option_is_not_shown(og: RunCommand) -> None:
    """It may be a secret."""
    assert "hunter2" not in og("tables", "--storage", "hunter2", status=2).err


def test_times() -> None:
    """As people write them; a time without a zone is UTC."""
    utc = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
    assert parse_time("2026-01-31T12:00:00Z") == parse_time("2026-01-31 12:00") == utc
    assert parse_time("2026-01-31T13:00:00+01:00") == utc
    assert parse_duration("1.5h") == timedelta(minutes=90)
    assert format_bytes(1023) == "1023 B"
    assert format_bytes(1536) == "1.5 KiB"
    for wrong in ("yesterday", "7", "3y"):
        with pytest.raises(UsageError, match=wrong):
            (parse_time if wrong == "yesterday" else parse_duration)(wrong)


def test_arguments_name_tables_and_their_files() -> None:
    """Several tables with several files; a table can be repeated."""
    words = ["node:A", "a.csv", "b.csv", "edge:E", "e.ndjson", "node:A", "./node:x.csv"]
    assert group_files(words) == {
        "node:A": ["a.csv", "b.csv", "./node:x.csv"],
        "edge:E": ["e.ndjson"],
    }
    for wrong in (["node:A"], ["node:A", "/dev/stdin", "/dev/stdin"]):
        with pytest.raises(UsageError):
            group_files(wrong)


def test_file_names_determine_formats() -> None:
    """Also of compressed files; a specified format takes precedence."""
    assert parse_file_name("a.jsonl.gz", None).format == "ndjson"
    assert parse_file_name("a.jsonl.gz", None).codec == "gzip"
    assert parse_file_name("a.TSV", None).separator == "\t"
    assert parse_file_name("-", "csv").format == "csv"
    for wrong in ("-", "a.doc", "a.parquet.gz"):
        with pytest.raises(UsageError):
            parse_file_name(wrong, None)


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
    """Rows, rate, share and remaining time."""
    assert progress_text(25, 100, 1000, 2.0) == "1,000 rows, 500 a second, 25%, 6 s left"
    assert progress_text(1, 5000, 10, 2.0).endswith("2 h 46 min left")
    assert progress_text(0, None, 10, 2.0) == "10 rows, 5 a second"


def test_a_drawn_bar_shows_names_of_files_harmlessly() -> None:
    """File names may be untrusted."""
    shown = io.StringIO()
    out = Output()
    out._err = Console(file=shown, force_terminal=True, width=100)
    with show_progress(out, 100) as advance:
        advance("node:A \x1b]0;title\x07[red].csv", 50, 5)
    assert "\x1b]0;" not in shown.getvalue()
    assert "\\x1b]0;title\\x07[red].csv" in shown.getvalue()
