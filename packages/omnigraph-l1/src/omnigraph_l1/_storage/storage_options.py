"""Storage options, resolved into one mapping for Lance and obstore. Pure.

Invariant: an option that was given wins over the environment; of two spellings of one option, the
canonical one wins; every name is canonical (``spellings``); what is missing or makes no sense is
said by its name, never with its value, which may be a secret.

* Options of another kind of store (``google_…`` for ``s3://``) are passed over, so that one
  mapping can serve several. A name that no store knows is refused: it is a slip, and Lance would
  ignore it in silence.
* Numbers and booleans may be given as such. A time is seconds, or text such as ``500ms``.
* Profiles of the AWS command line are not read: obstore cannot.

Not here: making stores.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from omnigraph_l1._storage.option_spellings import Family, family_of, known_elsewhere, spellings
from omnigraph_l1.deadlines import STORE_OPTIONS
from omnigraph_l1.errors import InvalidStorageOptions

__all__ = ["OptionValue", "parse_seconds", "resolve_options"]

OptionValue = str | bool | int | float | timedelta | None

_TIMES = frozenset({"connect_timeout", "pool_idle_timeout", "read_timeout", "timeout"})
_FLAGS = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "aws_imdsv1_fallback",
        "aws_s3_express",
        "aws_skip_signature",
        "aws_unsigned_payload",
        "aws_virtual_hosted_style_request",
        "azure_skip_signature",
        "azure_storage_use_emulator",
        "google_skip_signature",
    }
)
_TRUE, _FALSE = {"1", "true", "on", "yes", "y"}, {"0", "false", "off", "no", "n"}
_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"\s*(?P<count>\d+(\.\d+)?)\s*(?P<unit>[a-z]*)\s*")
_RETRY_VARIABLES = {
    "OBJECT_STORE_CLIENT_MAX_RETRIES": "client_max_retries",
    "OBJECT_STORE_CLIENT_RETRY_TIMEOUT": "client_retry_timeout",
}
_CHECKED_FOR_HTTP = ("aws_endpoint", "azure_storage_endpoint", "google_base_url")
_BUCKETS = ("aws_bucket", "google_bucket", "azure_container_name")
_OTHER_AWS_CREDENTIALS = (
    "aws_web_identity_token_file",
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
)


class OptionTarget(Protocol):
    """What of a location decides which options it takes. Its text is for errors."""

    @property
    def is_local(self) -> bool: ...
    @property
    def scheme(self) -> str: ...
    @property
    def bucket(self) -> str: ...


def resolve_options(
    location: OptionTarget, given: Mapping[str, OptionValue] | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Combine what was given, the environment and the defaults, under canonical names."""
    named = _name_options(location, given or {})
    if location.is_local:
        return {}
    family = family_of(location.scheme)
    settled = STORE_OPTIONS | _from_environment(family, environ) | named
    if family.prefix == "aws_":
        _resolve_endpoint(settled, named)
        _resolve_region(location, settled, named)
        _check_credentials(location, settled, environ)
    for name in _BUCKETS:
        if named.get(name, location.bucket) != location.bucket:
            raise _invalid_option(
                location, name, "names another bucket than the location", "Leave it out."
            )
        settled.pop(name, None)
    _check_values(location, settled)
    _check_endpoints(location, settled)
    return dict(sorted(settled.items()))


def parse_seconds(text: str) -> float:
    """Read ``30s``, ``500ms``, ``2min`` or plain seconds; ValueError for anything else."""
    read = _TIME.fullmatch(text.lower())
    if read is None or read["unit"] not in _UNITS:
        raise ValueError(text)
    return float(read["count"]) * _UNITS[read["unit"]]


def _name_options(location: OptionTarget, given: Mapping[str, OptionValue]) -> dict[str, str]:
    family = family_of(location.scheme)
    named: dict[str, str] = {}
    if not _is_named(given):
        remedy = "Give a mapping of names to values, or leave it out."
        raise _invalid_option(location, "storage_options", "is not a mapping of names", remedy)
    for name, value in given.items():
        canonical = family.canonical(name)
        if canonical is None:
            if not known_elsewhere(name):
                raise _invalid_option(
                    location, name, "is not an option that any store has", _suggest(name)
                )
            continue
        text = _text(location, name, value)
        if text is not None and (canonical not in named or name.lower() == canonical):
            named[canonical] = text
    return named


def _is_named(given: object) -> bool:
    return isinstance(given, Mapping) and all(isinstance(name, str) for name in given)


def _text(location: OptionTarget, name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return f"{round(value.total_seconds() * 1000)}ms"
    if isinstance(value, (int, float)):
        return str(value)
    remedy = "Give text, a number, a boolean or a timedelta."
    raise _invalid_option(location, name, f"has a value of type {type(value).__name__}", remedy)


def _from_environment(family: Family, environ: Mapping[str, str]) -> dict[str, str]:
    found = {_RETRY_VARIABLES[key]: environ[key] for key in _RETRY_VARIABLES if key in environ}
    for variable in sorted(environ):
        lowered = variable.lower()
        canonical = family.canonical(lowered) if lowered.startswith(family.prefix) else None
        exact = lowered == canonical
        if canonical is not None and environ[variable] and (exact or canonical not in found):
            found[canonical] = environ[variable]
    return found


def _resolve_endpoint(settled: dict[str, str], named: Mapping[str, str]) -> None:
    """Write one endpoint under both of its names, lest a variable wins over what was given."""
    both = ("aws_endpoint_url_s3", "aws_endpoint")
    source = named if any(name in named for name in both) else settled
    endpoint = next((source[name] for name in both if source.get(name)), None)
    for name in both:
        settled.pop(name, None)
        if endpoint is not None:
            settled[name] = endpoint


def _resolve_region(
    location: OptionTarget, settled: dict[str, str], named: Mapping[str, str]
) -> None:
    both = ("aws_region", "aws_default_region")
    source = named if any(name in named for name in both) else settled
    region = next((source[name] for name in both if source.get(name)), None)
    if region is None:
        remedy = "Give it, or set AWS_REGION; a store that has no regions takes 'us-east-1'."
        raise _invalid_option(location, "aws_region", "is missing", remedy)
    settled.pop("aws_default_region", None)
    settled["aws_region"] = region
    if settled.get("aws_s3_express"):
        settled["s3_express"] = settled["aws_s3_express"]  # Lance looks for this spelling only


def _check_credentials(
    location: OptionTarget, settled: Mapping[str, str], environ: Mapping[str, str]
) -> None:
    key, secret = "aws_access_key_id", "aws_secret_access_key"
    for missing, present in ((key, secret), (secret, key)):
        if settled.get(present) and not settled.get(missing):
            remedy = f"{present!r} is there: give both or neither."
            raise _invalid_option(location, missing, "is missing", remedy)
    unsigned = settled.get("aws_skip_signature", "").lower() in _TRUE
    elsewhere = any(settled.get(name) for name in _OTHER_AWS_CREDENTIALS)
    if environ.get("AWS_PROFILE") and not (settled.get(key) or unsigned or elsewhere):
        remedy = "AWS_PROFILE names a profile, and profiles are not read: export its credentials."
        raise _invalid_option(location, key, "is missing", remedy)


def _check_values(location: OptionTarget, settled: dict[str, str]) -> None:
    for name in _FLAGS & settled.keys():
        lowered = settled[name].strip().lower()
        if lowered not in _TRUE | _FALSE:
            raise _invalid_option(
                location, name, "is neither true nor false", "Give 'true' or 'false'."
            )
        settled[name] = "true" if lowered in _TRUE else "false"
    for name in _TIMES & settled.keys():
        settled[name] = f"{round(_seconds(location, name, settled[name]) * 1000)}ms"
    name = "client_retry_timeout"
    settled[name] = str(max(1, round(_seconds(location, name, settled[name]))))
    name = "client_max_retries"
    if not re.fullmatch(r"\d{1,3}", settled[name]):
        raise _invalid_option(location, name, "is not a small whole number", "Give 0 to 999.")


def _seconds(location: OptionTarget, name: str, text: str) -> float:
    try:
        return parse_seconds(text)
    except ValueError:
        remedy = "Give seconds, or text such as '500ms', '30s', '2min'."
        raise _invalid_option(location, name, "is not a time", remedy) from None


def _check_endpoints(location: OptionTarget, settled: Mapping[str, str]) -> None:
    allowed = settled.get("allow_http") == "true"
    emulated = settled.get("azure_storage_use_emulator") == "true"
    for name in (*_CHECKED_FOR_HTTP, "dynamodb_endpoint"):
        if not settled.get(name):
            continue
        parts = _url(settled[name])
        if parts is None:
            remedy = "Write it as 'https://host' or 'https://host:port'."
            raise _invalid_option(location, name, "is not an http(s) URL", remedy)
        if parts.username is not None or parts.query or parts.fragment:
            remedy = "Give credentials as options of their own."
            raise _invalid_option(
                location, name, "holds more than scheme, host, port and path", remedy
            )
        if parts.scheme == "http" and name in _CHECKED_FOR_HTTP and not (allowed or emulated):
            remedy = f"{name!r} is plain http: give allow_http='true' if that is meant, or https."
            raise _invalid_option(location, "allow_http", "is not set", remedy)


def _url(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        is_one = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return None
    # obstore panics at letters that are not ASCII.
    return parts if is_one and re.fullmatch("[!-~]+", text) else None


def _suggest(name: str) -> str:
    close = difflib.get_close_matches(name.lower(), spellings(), n=1, cutoff=0.75)
    return f"Did you mean {close[0]!r}?" if close else "Leave it out."


def _invalid_option(
    location: OptionTarget, option: str, reason: str, remedy: str
) -> InvalidStorageOptions:
    return InvalidStorageOptions(
        location=str(location), option=option, reason=reason, remedy=remedy
    )
