"""Where a test may write: one prefix of one bucket, and how each client gets there.

A plain value: picklable, so that spawned client processes can be handed one, and without the secret
in its repr. Whether anything answers at the endpoint is not its business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    import obstore.store

__all__ = ["S3Store"]


@attrs.frozen
class S3Store:
    """A prefix in a bucket of an S3 server. Nothing else writes below it."""

    endpoint: str
    bucket: str
    prefix: str = attrs.field(kw_only=True, default="")
    access_key: str = attrs.field(kw_only=True)
    secret_key: str = attrs.field(kw_only=True, repr=False)
    region: str = attrs.field(kw_only=True, default="us-east-1")
    session_token: str | None = attrs.field(kw_only=True, default=None, repr=False)

    def key(self, name: str = "") -> str:
        """Return the key of ``name`` within the bucket."""
        return "/".join(part for part in (self.prefix, name.strip("/")) if part)

    def uri(self, name: str = "") -> str:
        """Return ``s3://bucket/prefix/name``."""
        return f"s3://{self.bucket}/{self.key(name)}".rstrip("/")

    @property
    def storage_options(self) -> dict[str, str]:
        """What Lance takes as ``storage_options``."""
        return {**self._config, "allow_http": "true"}

    @property
    def obstore_kwargs(self) -> dict[str, dict[str, str]]:
        """What ``obstore.store.from_url`` takes beside the URI: it keeps client options apart."""
        return {"config": self._config, "client_options": {"allow_http": "true"}}

    @property
    def client_kwargs(self) -> dict[str, str]:
        """What ``boto3.client("s3", **kwargs)`` takes."""
        token = {"aws_session_token": self.session_token} if self.session_token else {}
        return {
            **token,
            "endpoint_url": self.endpoint,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": self.region,
        }

    def obstore(self, name: str = "") -> obstore.store.S3Store:
        """Return an obstore store below ``name``."""
        import obstore.store  # noqa: PLC0415 - heavy, and only some tests use it

        kwargs: dict[str, Any] = dict(self.obstore_kwargs)
        return obstore.store.S3Store.from_url(self.uri(name), **kwargs)

    def below(self, name: str) -> S3Store:
        """Return the store that is rooted at ``name`` in this one."""
        return attrs.evolve(self, prefix=self.key(name))

    @property
    def _config(self) -> dict[str, str]:
        token = {"aws_session_token": self.session_token} if self.session_token else {}
        return {
            **token,
            "aws_endpoint": self.endpoint,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "aws_region": self.region,
        }
