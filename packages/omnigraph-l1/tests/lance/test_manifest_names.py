"""The names of version files, both ways, for many drawn versions.

White-box: the names are computed by a pure module, and a dataset has few of the 2**64 versions.
"""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments

from omnigraph_l1._lance.version_files import (
    NamingScheme,
    format_detached,
    format_name,
    parse_detached,
    parse_name,
)

OLD, NEW = NamingScheme.V1, NamingScheme.V2
ROWS = pa.table({"a": [1]})


@given(st.integers(0, 2**64 - 1), st.sampled_from(NamingScheme))
def test_names_of_version_files_go_both_ways(version: int, scheme: NamingScheme) -> None:
    """What is formatted parses to itself; a V1 name of twenty digits reads as V2, as in Lance."""
    parsed = parse_name(format_name(version, scheme))
    if scheme is NamingScheme.V1 and version >= 10**19:
        scheme, version = NamingScheme.V2, 2**64 - 1 - version
    assert parsed == (scheme, version)


@given(st.integers(0, 2**64 - 2))
def test_v2_names_sort_the_newest_first(version: int) -> None:
    """So that a listing shows the newest at its beginning."""
    assert format_name(version + 1) < format_name(version)


@pytest.mark.parametrize(
    "name",
    ["", "manifest", "x.manifest", "01.manifest", "-1.manifest", "1.manifest.torn-x", "1.manifest~",
     "99999999999999999999.manifest", "latest_version_hint.json", "1 .manifest", "\u0661.manifest"],
)  # fmt: skip
def test_what_is_no_version_file(name: str) -> None:
    """Other files in the directory are passed over."""
    assert parse_name(name) is None


@pytest.mark.parametrize("version", [-1, 2**64])
def test_versions_that_cannot_be(version: int) -> None:
    """A version is a whole number of 64 bits."""
    with pytest.raises(ValueError, match=str(version)):
        format_name(version)


@settings(max_examples=5, deadline=None)
@given(new=st.booleans(), commits=st.integers(0, 12), detached=st.integers(0, 2))
def test_names_are_those_of_real_files(
    tmp_path_factory: pytest.TempPathFactory, *, new: bool, commits: int, detached: int
) -> None:
    """Whatever is committed: each file parses to its version, and formats to its name."""
    location = tmp_path_factory.mktemp("names")
    dataset = lance.write_dataset(ROWS, location / "t", enable_v2_manifest_paths=new)
    for _ in range(commits):
        dataset = lance.write_dataset(ROWS, dataset, mode="append")
    apart = []
    for _ in range(detached if new else 0):  # Lance refuses them beside old names
        operation = LanceOperation.Append(write_fragments(ROWS, dataset))
        made = LanceDataset.commit(dataset, operation, read_version=dataset.version, detached=True)
        apart.append(made.version)
    found = {path.name for path in (location / "t" / "_versions").glob("*.manifest")}
    scheme = NEW if new else OLD
    history = {name: parsed for name in found if (parsed := parse_name(name))}
    assert sorted(history.values(), key=lambda one: one[1]) == [
        (scheme, version) for version in range(1, commits + 2)
    ]
    assert all(format_name(version, kind) == name for name, (kind, version) in history.items())
    assert sorted(filter(None, map(parse_detached, found - set(history)))) == sorted(apart)
    assert {format_detached(version) for version in apart} == found - set(history)


@given(st.integers(2**63, 2**64 - 1))
def test_names_of_detached_versions_go_both_ways(version: int) -> None:
    """And are no version of the history."""
    assert parse_detached(format_detached(version)) == version
    assert parse_name(format_detached(version)) is None


@pytest.mark.parametrize("name", ["d1.manifest", "d18446744073709551616.manifest", "d.manifest",
                                  "9223372036854775808.manifest", "dx.manifest"])  # fmt: skip
def test_what_is_no_detached_version(name: str) -> None:
    """Its highest bit is set."""
    assert parse_detached(name) is None


@pytest.mark.parametrize("version", [0, 2**63 - 1, 2**64])
def test_a_detached_version_has_the_highest_bit_set(version: int) -> None:
    """Others are refused."""
    with pytest.raises(ValueError, match=str(version)):
        format_detached(version)
