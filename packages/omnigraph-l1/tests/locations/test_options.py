"""One mapping of options becomes the one that Lance and obstore both take; slips are named."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import Storage
from omnigraph_l1.errors import InvalidStorageOptions

KEYS = {"aws_access_key_id": "AK", "aws_secret_access_key": "hunter2", "aws_region": "r"}


def options(
    given_options: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    location: str = "s3://bucket/x",
) -> dict[str, str]:
    """Settle options with a given environment, and leave the defaults out."""
    storage = Storage.resolve(location, given_options, environ=environ or {})
    defaults = {"client_max_retries", "client_retry_timeout", "connect_timeout", "timeout"}
    return {k: v for k, v in storage.lance_options.items() if k not in defaults}


@pytest.mark.parametrize(
    "given_options",
    [
        KEYS,
        {"access_key_id": "AK", "secret_access_key": "hunter2", "region": "r"},
        {"AWS_ACCESS_KEY_ID": "AK", "Secret_Access_Key": "hunter2", "Default_Region": "r"},
        {**KEYS, "google_service_account": "x", "azure_storage_account_key": "x"},
        {**KEYS, "aws_session_token": None},
    ],
)
def test_spellings(given_options: dict[str, str]) -> None:
    """With and without the prefix, in any case, it is one option; other stores' are passed over."""
    assert options(given_options) == KEYS


def test_the_environment() -> None:
    """The usual variables are read; each gives way to an option that was given, alias or not."""
    environ = {
        "AWS_ACCESS_KEY_ID": "env",
        "AWS_SECRET_ACCESS_KEY": "env",
        "AWS_SESSION_TOKEN": "env",
        "AWS_DEFAULT_REGION": "env-default",
        "AWS_ENDPOINT_URL": "https://general",
        "AWS_ENDPOINT_URL_S3": "https://for-s3",
        "AWS_ALLOW_HTTP": "1",
        "AWS_PAGER": "less",
        "AWS_BUCKET": "elsewhere",
        "PATH": "/bin",
    }
    found = options(environ=environ)
    assert found == {
        "aws_access_key_id": "env",
        "aws_secret_access_key": "env",
        "aws_session_token": "env",
        "aws_region": "env-default",
        "aws_endpoint": "https://for-s3",
        "aws_endpoint_url_s3": "https://for-s3",
        "allow_http": "true",
    }
    assert options(environ=environ | {"AWS_REGION": "env"})["aws_region"] == "env"
    found = options({"token": "T", "default_region": "mine", "endpoint": "http://mine"}, environ)
    assert (found["aws_session_token"], found["aws_region"]) == ("T", "mine")
    assert found["aws_endpoint"] == found["aws_endpoint_url_s3"] == "http://mine"


def test_defaults_are_short_and_can_be_changed() -> None:
    """A store that is down is found out in seconds by default; the usual options change that."""
    location = "s3://bucket"
    assert Storage.resolve(location, KEYS, environ={}).lance_options | KEYS == {
        **KEYS,
        "client_max_retries": "3",
        "client_retry_timeout": "4",
        "connect_timeout": "2000ms",
        "timeout": "30000ms",
    }
    given_options = {
        **KEYS,
        "client_max_retries": 7,
        "client_retry_timeout": "2min",
        "AWS_TIMEOUT": timedelta(seconds=1.5),
        "connect_timeout": 2,
    }
    environ = {"OBJECT_STORE_CLIENT_MAX_RETRIES": "9", "OBJECT_STORE_CLIENT_RETRY_TIMEOUT": "9"}
    found = Storage.resolve(location, given_options, environ=environ).lance_options
    assert {k: v for k, v in found.items() if k not in KEYS} == {
        "client_max_retries": "7",
        "client_retry_timeout": "120",
        "connect_timeout": "2000ms",
        "timeout": "1500ms",
    }
    found = Storage.resolve(location, KEYS, environ=environ).lance_options
    assert (found["client_max_retries"], found["client_retry_timeout"]) == ("9", "9")


@pytest.mark.parametrize(
    ("given_options", "option", "says"),
    [
        ({}, "aws_region", "AWS_REGION"),
        ({"region": ""}, "aws_region", "is missing"),
        ({"region": "r", "endpoint": "http://h:1"}, "allow_http", "plain http"),
        ({**KEYS, "endpoint": "http://h", "allow_http": "no"}, "allow_http", "plain http"),
        ({"region": "r", "access_key_id": "AK"}, "aws_secret_access_key", "is missing"),
        ({"region": "r", "secret_access_key": "hunter2"}, "aws_access_key_id", "is missing"),
        ({"region": "r", "endpoint": "host:80"}, "aws_endpoint", "URL"),
        ({"region": "r", "endpoint": "https://u:hunter2@h"}, "aws_endpoint", "more than"),
        ({"region": "r", "endpoint": "https://h?hunter2"}, "aws_endpoint", "more than"),
        ({"region": "r", "endpoint": "https://h#hunter2"}, "aws_endpoint", "more than"),
        ({"region": "r", "endpoint": "https://a b"}, "aws_endpoint", "URL"),
        ({"region": "r", "endpoint": "https://[::1"}, "aws_endpoint", "URL"),
        ({"region": "r", "endpoint": "https://h:port"}, "aws_endpoint", "URL"),
        ({"region": "r", "endpoint": "https://h\u00e9"}, "aws_endpoint", "URL"),
        ({"regoin": "r"}, "regoin", "'region'"),
        ({**KEYS, "aws_alow_http": "true"}, "aws_alow_http", "allow_http"),
        ({**KEYS, "colour": "hunter2"}, "colour", "Leave it out"),
        ({**KEYS, "allow_http": "hunter2"}, "allow_http", "true nor false"),
        ({**KEYS, "timeout": "hunter2"}, "timeout", "not a time"),
        ({**KEYS, "client_retry_timeout": "-1"}, "client_retry_timeout", "not a time"),
        ({**KEYS, "client_max_retries": "many"}, "client_max_retries", "whole number"),
        ({**KEYS, "region": b"hunter2"}, "region", "bytes"),
        ({**KEYS, "bucket": "elsewhere"}, "aws_bucket", "another bucket"),
    ],
)
def test_what_is_missing_or_wrong_is_said_by_name(
    given_options: dict[str, Any], option: str, says: str
) -> None:
    """Each mistake is InvalidStorageOptions before anything is asked of a store. It names the
    option and what to do, and repeats no value.
    """
    with pytest.raises(InvalidStorageOptions, match=says) as caught:
        options(given_options)
    assert caught.value.option == option
    assert "hunter2" not in f"{caught.value}{caught.value!r}"


def test_profiles_are_not_read() -> None:
    """A profile of the AWS command line is said to be unread, unless there are credentials."""
    with pytest.raises(InvalidStorageOptions, match="AWS_PROFILE"):
        options({"region": "r"}, {"AWS_PROFILE": "work"})
    assert options(KEYS, {"AWS_PROFILE": "work"}) == KEYS
    assert options({"region": "r", "skip_signature": True}, {"AWS_PROFILE": "work"})


def test_local_places_need_nothing() -> None:
    """On local disk options of any store are passed over, so that one mapping serves both; a slip
    is still a slip.
    """
    assert options(KEYS, location="/data") == {}
    with pytest.raises(InvalidStorageOptions):
        options({"regoin": "r"}, location="/data")


def test_other_stores() -> None:
    """Google's and Azure's options go by their own names and variables."""
    environ = {"GOOGLE_SERVICE_ACCOUNT": "/env.json", "AZURE_STORAGE_ACCOUNT_KEY": "hunter2"}
    assert options(environ=environ, location="gs://b") == {"google_service_account": "/env.json"}
    found = options({"account_name": "n", "SAS_TOKEN": "s"}, environ, location="az://c")
    assert found == {
        "azure_storage_account_name": "n",
        "azure_storage_account_key": "hunter2",
        "azure_storage_sas_key": "s",
    }


@given(
    st.dictionaries(
        st.text(max_size=12) | st.sampled_from(["region", "timeout", "endpoint", "allow_http"]),
        st.text(max_size=8) | st.integers() | st.floats() | st.booleans() | st.none(),
        max_size=4,
    )
)
def test_nothing_but_our_error_leaves(given_options: dict[str, Any]) -> None:
    """Whatever is given, it is settled for good or refused with our error."""
    try:
        storage = Storage.resolve("s3://bucket", given_options, environ={"AWS_REGION": "r"})
    except InvalidStorageOptions:
        return
    again = Storage.resolve("s3://bucket", storage.lance_options, environ={})
    assert again == storage
