"""A DynamoDB table for tests, keyed as Lance's external manifest store wants it.

Invariant: no two tables have one name. The server is moto's, which speaks DynamoDB beside S3.
"""

from __future__ import annotations

import secrets

import attrs

from omnigraph_testing._servers.s3_server import S3Server
from omnigraph_testing.errors import ServerUnavailable

__all__ = ["DynamoTable", "new_table"]


@attrs.frozen
class DynamoTable:
    """A table, and how Lance and OmniGraph get there: ``s3+ddb://…?ddbTableName=<name>``."""

    name: str
    endpoint: str

    @property
    def storage_options(self) -> dict[str, str]:
        """What is added to the ``storage_options`` of the bucket."""
        return {"dynamodb_endpoint": self.endpoint}


def new_table(server: S3Server) -> DynamoTable:
    """Make a table."""
    try:
        import boto3  # noqa: PLC0415 - it comes with moto
    except ImportError as error:
        raise ServerUnavailable(
            server="moto",
            reason="the module 'boto3' is not installed",
            remedy="Run: pip install 'omnigraph-testing[moto]'",
        ) from error
    name = f"t{secrets.token_hex(6)}"
    client = boto3.client("dynamodb", **server.root.client_kwargs)
    client.create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": "base_uri", "KeyType": "HASH"},
            {"AttributeName": "version", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "base_uri", "AttributeType": "S"},
            {"AttributeName": "version", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    return DynamoTable(name, server.endpoint)
