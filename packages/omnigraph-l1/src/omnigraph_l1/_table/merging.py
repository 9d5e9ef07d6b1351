"""A merge by an annotated key that is a compare-and-swap between rows: the catalog stands on it.

Always: of two merges that insert one key on one version, at most one lands. That holds only with
the annotation on the key, without an index, and in one step of Lance's (staged and committed, it
would forget which keys it inserted); so all three are settled here.
"""

from __future__ import annotations

from omnigraph_l1._events import timed
from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._kinds import TransactionKind
from omnigraph_l1._lance.failures import LanceFailure, lance_calls
from omnigraph_l1._table.committing import ready_to_write
from omnigraph_l1._table.fitting import ArrowData, fit
from omnigraph_l1._table.flushing import flush_everything_named, flush_version
from omnigraph_l1._table.outcomes import Outcome, commit_error
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.wholeness import mark_flushed
from omnigraph_l1._text import is_text
from omnigraph_l1.errors import InvalidRequest

__all__ = ["PRIMARY_KEY", "merge_exclusively"]

PRIMARY_KEY = b"lance-schema:unenforced-primary-key"

_VISIBLE = declare("l1.merge.visible", "the merged version is visible, but not yet flushed")


def merge_exclusively(pinned: Pinned, data: ArrowData, *, key: str, write_id: str) -> Outcome:
    """Upsert rows by an annotated key, in one step, so that a key can be inserted only once.

    Of two such merges that insert one key on one version, the second is refused. This, and only
    this, is a compare-and-swap between rows. ``write_id`` names the write in an error, when its
    reply is lost: it should stand in the data.
    """
    schema = pinned.dataset.schema
    field = schema.field(key) if is_text(key) and key in schema.names else None
    if field is None or (field.metadata or {}).get(PRIMARY_KEY) != b"true":
        reason = (
            f"column {key!r} does not carry the annotation {PRIMARY_KEY.decode()!r}, and without "
            "it two writers could insert one key; annotate it when the table is created"
        )
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    ready_to_write(pinned)
    fitted = fit(data, schema, place=pinned.place, key=key)
    moving = pinned.apart()
    rows = fitted.read_all()
    with timed(
        "merge", place=str(pinned.place), branch=pinned.branch, base=pinned.version
    ) as event:
        try:
            with lance_calls():
                (
                    moving.merge_insert(key)
                    .when_matched_update_all()
                    .when_not_matched_insert_all()
                    .conflict_retries(0)
                    .use_index(use_index=False)
                    .execute(rows)
                )
        except LanceFailure as failure:
            raise commit_error(
                pinned, "merge", failure, write_id, ours=TransactionKind.UPDATE
            ) from failure.cause
        event["version"] = moving.version
    failpoint(_VISIBLE)
    done = pinned.at(moving)
    flush_everything_named(done)
    flush_version(done)
    if done.flushes:
        mark_flushed(done.directory, done.version)
    return Outcome(
        pinned=done,
        base_version=pinned.version,
        transaction_id=None,
        follows_base=done.version == pinned.version + 1,
        changed=True,
    )
