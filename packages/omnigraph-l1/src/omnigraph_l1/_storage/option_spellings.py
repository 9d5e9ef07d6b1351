"""How options of stores may be spelled, and the one spelling that Lance and obstore both take.

Invariant: pure data and look-ups. Every spelling that object_store reads (Lance and obstore both
stand on it) leads to the canonical name, which is the one that object_store itself prints, so
that an environment variable can never be added under another alias.

Not here: values, defaults, what is required (``options``).
"""

from __future__ import annotations

import attrs

__all__ = ["CLIENT", "LANCE_ONLY", "Family", "family_of", "known_elsewhere", "spellings"]

CLIENT = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "default_content_type",
        "http1_only",
        "http2_keep_alive_interval",
        "http2_keep_alive_timeout",
        "http2_keep_alive_while_idle",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "randomize_addresses",
        "read_timeout",
        "timeout",
        "user_agent",
    }
)
"""Options of the HTTP client, the same for every store."""

LANCE_ONLY = frozenset(
    {
        "client_max_retries",
        "client_retry_timeout",
        "download_retry_count",
        "dynamodb_endpoint",
        "expires_at_millis",
        "refresh_offset_millis",
        "use_opendal",
    }
)
"""Options that only Lance reads by these names. ``lance_…`` are Lance's as well."""

_LANCE_PREFIX = "lance_"


@attrs.frozen
class Family:
    """The options of one kind of store: the prefix of their names, and their aliases."""

    prefix: str
    aliases: dict[str, str] = attrs.field(hash=False)

    def canonical(self, name: str) -> str | None:
        """Return the canonical name of an option, or None if this kind of store has none such."""
        lowered = name.lower()
        if lowered in self.aliases:
            return self.aliases[lowered]
        bare = lowered.removeprefix(self.prefix) if self.prefix else lowered
        if bare in CLIENT or bare in LANCE_ONLY:
            return bare
        if lowered in LANCE_ONLY or lowered.startswith(_LANCE_PREFIX):
            return lowered
        return None


def _family(prefix: str, names: str) -> Family:
    """Read lines of ``canonical: alias alias``; a name without its prefix is an alias too."""
    aliases: dict[str, str] = {}
    for line in names.split("\n"):
        canonical, _, others = line.strip().partition(":")
        for name in (canonical, *others.split()):
            aliases[name] = canonical
            aliases.setdefault(name.removeprefix(prefix), canonical)
    aliases.pop("", None)
    return Family(prefix, aliases)


_S3 = _family(
    "aws_",
    """aws_access_key_id:
    aws_secret_access_key:
    aws_session_token: aws_token
    aws_region:
    aws_default_region:
    aws_bucket: aws_bucket_name
    aws_endpoint: aws_endpoint_url
    aws_endpoint_url_s3:
    aws_virtual_hosted_style_request:
    aws_s3_express:
    aws_imdsv1_fallback:
    aws_metadata_endpoint:
    aws_unsigned_payload:
    aws_checksum_algorithm:
    aws_container_credentials_relative_uri:
    aws_container_credentials_full_uri:
    aws_container_authorization_token_file:
    aws_web_identity_token_file:
    aws_role_arn:
    aws_role_session_name:
    aws_endpoint_url_sts: aws_sts_endpoint
    aws_skip_signature:
    aws_copy_if_not_exists:
    aws_conditional_put:
    aws_disable_tagging:
    aws_disable_bulk_delete:
    aws_request_payer:
    aws_server_side_encryption:
    aws_sse_kms_key_id:
    aws_sse_bucket_key_enabled:
    aws_sse_customer_key_base64:""",
)
_GCS = _family(
    "google_",
    """google_service_account: google_service_account_path
    google_service_account_key:
    google_bucket: google_bucket_name
    google_base_url:
    google_application_credentials:
    google_bearer_token: google_storage_token
    google_skip_signature:""",
)
_AZURE = _family(
    "azure_",
    """azure_storage_account_name: account_name
    azure_storage_account_key: azure_storage_access_key azure_storage_master_key account_key access_key master_key
    azure_storage_client_id: azure_client_id
    azure_storage_client_secret: azure_client_secret
    azure_storage_tenant_id: azure_storage_authority_id azure_tenant_id azure_authority_id
    azure_storage_authority_host: azure_authority_host
    azure_storage_sas_key: azure_storage_sas_token sas_key sas_token
    azure_storage_token: bearer_token token
    azure_storage_use_emulator: use_emulator
    azure_storage_endpoint: azure_endpoint
    azure_msi_endpoint: azure_identity_endpoint
    azure_object_id:
    azure_msi_resource_id:
    azure_federated_token_file:
    azure_use_fabric_endpoint:
    azure_use_azure_cli:
    azure_skip_signature:
    azure_container_name:
    azure_disable_tagging:
    azure_fabric_token_service_url:
    azure_fabric_workload_host:
    azure_fabric_session_token:
    azure_fabric_cluster_identifier:
    azure_credential_type:
    azure_storage_encryption_key: encryption_key""",  # noqa: E501
)
_LOCAL = Family("", {})
_FAMILIES = {"file": _LOCAL, "s3": _S3, "s3+ddb": _S3, "gs": _GCS, "az": _AZURE}


def family_of(scheme: str) -> Family:
    """Return the options of the store that a scheme leads to."""
    return _FAMILIES[scheme]


def known_elsewhere(name: str) -> bool:
    """Return whether another kind of store has such an option: then it is passed over here."""
    return any(family.canonical(name) is not None for family in _FAMILIES.values())


def spellings() -> frozenset[str]:
    """Return every spelling there is, for guessing what a misspelled one was meant to be."""
    every = set(CLIENT | LANCE_ONLY)
    for family in _FAMILIES.values():
        every.update(family.aliases)
    return frozenset(every)
