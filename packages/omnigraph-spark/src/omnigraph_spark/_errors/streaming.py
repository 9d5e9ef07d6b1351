"""What stops a stream of changes that cannot go on as it was begun."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from omnigraph_spark._errors.base import OmniGraphSparkError

__all__ = ["StreamColumnsChanged"]


@define(kw_only=True, slots=False)
class StreamColumnsChanged(OmniGraphSparkError):
    """A table got columns, or other types of columns, after a stream of it was begun."""

    kind: ClassVar[str] = "stream_columns_changed"
    table_key: str
    commit_id: str
    """The first commit that has rows with them."""
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.table_key} has changed since this stream was begun: from commit "
            f"{self.commit_id} on {'; '.join(self.problems)}. Nothing was lost: load the stream "
            "again (readStream … load) and start it with its checkpoint; it goes on with this "
            "commit, and with these columns. Or name the columns that you want in the option "
            "'columns'."
        )
