"""A location is absolute and settled, says where it is, and never holds a secret."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import Location
from omnigraph_l1.errors import InvalidLocation

SEGMENTS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\\"),
    min_size=1,
    max_size=12,
).filter(lambda segment: segment not in {".", ".."})
KEYS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("given_text", "text"),
    [
        ("/data/repo", "/data/repo"),
        ("/data//repo/", "/data/repo"),
        ("/data/./x/../repo", "/data/repo"),
        ("/../..", "/"),
        ("//data", "/data"),
        ("/a b/ü/人", "/a b/ü/人"),
        ("/100%25/a#b?c", "/100%25/a#b?c"),
        ("file:///data/repo/", "/data/repo"),
        ("FILE://localhost/data", "/data"),
        ("file:///a%20b/%25/%E4%BA%BA", "/a b/%/人"),
        ("file:///a b", "/a b"),
        ("s3://bucket", "s3://bucket"),
        ("s3://bucket/", "s3://bucket"),
        ("S3://bucket/a//b/./c/../d/", "s3://bucket/a/b/d"),
        ("s3a://bucket/x", "s3://bucket/x"),
        ("gs://bucket/x", "gs://bucket/x"),
        ("gcs://bucket/x", "gs://bucket/x"),
        ("az://container/x", "az://container/x"),
        ("s3://bucket/a b/人", "s3://bucket/a b/人"),
        ("s3://bucket/a%20b", "s3://bucket/a b"),
        ("s3://bucket/a%23b%3F%25", "s3://bucket/a%23b%3F%25"),
        ("s3://bucket/100%", "s3://bucket/100%25"),
        ("s3://bucket/end%20", "s3://bucket/end%20"),
        ("s3+ddb://bucket/p/?ddbTableName=t-1", "s3+ddb://bucket/p?ddbTableName=t-1"),
    ],
)
def test_spellings_are_settled(given_text: str, text: str) -> None:
    """Each spelling becomes the one text, which parses back to the same location."""
    location = Location.parse(given_text)
    assert str(location) == location.uri == text
    assert Location.parse(text) == location
    assert hash(Location.parse(text)) == hash(location)


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is below the current directory, and ~ below the home; a PathLike is not
    expanded.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/srv/ann")
    assert Location.parse("x/../repo").local_path == tmp_path / "repo"
    assert Location.parse(Path("repo")).local_path == tmp_path / "repo"
    assert Location.parse(".").local_path == tmp_path
    assert Location.parse("~/repo").uri == "/srv/ann/repo"
    assert Location.parse(Path("~/repo")).local_path == tmp_path / "~" / "repo"
    assert Location.parse("a:b").local_path == tmp_path / "a:b"


@given(KEYS)
def test_any_path_comes_back(key: str) -> None:
    """A path of any printable names is kept as it is written, percent signs included."""
    location = Location.parse("/" + key)
    assert location.uri == "/" + key
    assert Location.parse(Path("/" + key)) == location
    assert Location.parse("file:///" + quote(key)) == location
    assert pickle.loads(pickle.dumps(location)) == location


@given(KEYS, st.sampled_from(["s3", "gs", "az"]))
def test_any_key_comes_back(key: str, scheme: str) -> None:
    """A key of any printable names survives being written as a URI, escaped or not."""
    location = Location.parse(f"{scheme}://bucket/{quote(key)}")
    assert location.key == key
    assert Location.parse(location.uri) == location
    assert (location.scheme, location.bucket, location.is_local) == (scheme, "bucket", False)


@given(
    st.text(max_size=40), st.sampled_from(["", "/", "file:///", "s3://b/", "s3://", "s3+ddb://b/"])
)
def test_whatever_is_given_is_settled_or_refused(text: str, before: str) -> None:
    """No text leads to anything but a location that comes back, or InvalidLocation."""
    try:
        location = Location.parse(before + text)
    except InvalidLocation:
        return
    assert Location.parse(location.uri) == location
    assert not {"", ".", ".."} & set(location.key.split("/")) or location.key == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("ftp://host/x", "'ftp'"),
        ("memory://x", "'memory'"),
        ("s3://", "bucket"),
        ("s3:///x", "bucket"),
        ("s3://buc ket/x", "bucket"),
        ("s3://bucket/../x", "out of the bucket"),
        ("s3://bucket/a\\b", "backslash"),
        ("s3://bucket/a?b", "%3F"),
        ("s3://bucket/a#b", "%23"),
        ("s3://bucket/%ff", "UTF-8"),
        ("s3://bucket/a%0Ab", "control"),
        ("s3:/bucket/x", "two slashes"),
        ("file:/x", "two slashes"),
        ("file://host/x", "only this machine"),
        ("s3+ddb://bucket/x", "ddbTableName"),
        ("s3+ddb://bucket/x?ddbTableName=t&x=y", "ddbTableName"),
        ("/a\nb", "control"),
        ("/a\0b", "control"),
        ("/\udcff", "Unicode"),
    ],
)
def test_what_is_no_place_is_refused(text: str, reason: str) -> None:
    """Each kind of mistake is InvalidLocation, which says what is wrong and can be printed."""
    with pytest.raises(InvalidLocation, match=reason) as caught:
        Location.parse(text)
    str(caught.value).encode()


@pytest.mark.parametrize("given_object", [None, 7, b"/x", Path])
def test_what_is_no_text_is_refused(given_object: object) -> None:
    """Anything but text and paths is InvalidLocation too, not a TypeError."""
    with pytest.raises(InvalidLocation, match="not text"):
        Location.parse(given_object)  # type: ignore[arg-type]


def test_a_path_of_bytes_is_refused() -> None:
    """A PathLike that gives bytes is InvalidLocation."""

    class OfBytes(os.PathLike[bytes]):
        def __fspath__(self) -> bytes:
            return b"/x"

    with pytest.raises(InvalidLocation, match="OfBytes"):
        Location.parse(OfBytes())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "s3://KEY:hunter2@bucket/x",
        "s3://hunter2@bucket/x",
        "s3://KEY:hunt/hunter2@bucket/x",
        "s3://bucket/x?secret=hunter2",
        "s3://bucket?hunter2",
        "s3://bucket/x#hunter2",
        "s3://hunter2:80/x",
        "file://hunter2@/x",
        "s3+ddb://bucket/x?hunter2",
        "ftp://u:hunter2@host/x",
    ],
)
def test_secrets_are_refused_and_not_repeated(text: str) -> None:
    """Credentials in a URI are refused, and the error does not repeat them."""
    with pytest.raises(InvalidLocation) as caught:
        Location.parse(text)
    assert "hunter2" not in f"{caught.value}{caught.value!r}{caught.value.__cause__}"


def test_places_below() -> None:
    """``/`` appends plain names; names are not unescaped; dots, and nothing, are refused."""
    root = Location.parse("s3://bucket/repo")
    assert (root / "nodes/40d7").uri == "s3://bucket/repo/nodes/40d7"
    assert (root / "a%20b").key == "repo/a%20b"
    assert (Location.parse("s3://bucket") / "x").uri == "s3://bucket/x"
    assert (Location.parse("/") / "x").uri == "/x"
    assert (
        Location.parse("s3+ddb://b/p?ddbTableName=t") / "x"
    ).uri == "s3+ddb://b/p/x?ddbTableName=t"
    assert (root / "x").name == "x"
    for below in ("", "/x", "x/", "a//b", "..", "a/../b", ".", "a\nb", "a\\b"):
        with pytest.raises(InvalidLocation):
            root / below
    with pytest.raises(InvalidLocation, match="not on local disk"):
        _ = root.local_path
