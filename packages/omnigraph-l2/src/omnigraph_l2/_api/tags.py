"""The tags of a repository, as users make, list and delete them.

Invariant: a tag names one commit and never moves. It is there once its document is; what the commit
needs stays, also when the branch that it was made on is deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.revision_resolver import RevisionResolver
from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._errors.translating import public_call
from omnigraph_l2._model.argument_checks import check_text
from omnigraph_l2._model.deadlines import OPERATION_SECONDS
from omnigraph_l2._store.branch_registry import MAIN, is_hidden, native_name
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable
from omnigraph_l2._store.tag_records import Tag, TagRecords
from omnigraph_l2.errors import (
    InvalidBranchName,
    InvalidRequest,
    InvalidTagName,
    OmniGraphError,
    TagExists,
)

__all__ = ["Tags"]

_CHECKED = declare("l2.tag.checked", "what the tag needs is there; the tag is not yet")
_WRITTEN = declare("l2.tag.written", "the tag is there")
_REMOVED = declare("l2.tag.removed", "the tag is gone")


@attrs.frozen(kw_only=True)
class Tags:
    """The tags of a repository: ``repo.tags``."""

    _root: RepositoryRoot
    _refs: TagRecords
    _references: RevisionResolver
    _clock: Callable[[], datetime]
    _actor: str | None

    def create(
        self,
        name: str,
        source: str | int | Snapshot = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        timeout: float = OPERATION_SECONDS,
    ) -> Tag:
        """Name the head of a branch, a commit (by id), what another tag names, or a snapshot."""
        self._root.check_open()
        with public_call(timeout):
            _check_name(name)
            check_text("actor", actor)
            check_text("message", message)
            check_writable(self._root)
            if self._refs.get(name) is not None:
                raise TagExists(location=self._root.location, tag=name)
            self._references.take_lease()
            moment = self._references.find(source)
            commit = moment.commit
            if commit is None:
                raise InvalidRequest(
                    what=f"revision {source!r}", reason="it has no commit that a tag could name"
                )
            if is_hidden(moment.native):
                reason = "it is a step of a run. Tag the commit that the run publishes"
                raise InvalidRequest(what=f"commit {commit.graph_commit_id!r}", reason=reason)
            # What a branch took over from where it started was made elsewhere, and is here too.
            made_here = moment.native == commit.manifest_branch
            numbered = moment.loaded.state.commit(commit.graph_commit_id)
            tag = Tag(
                name=name,
                graph_commit_id=commit.graph_commit_id,
                branch=moment.branch,
                native_branch=moment.native,
                manifest_version=commit.manifest_version if made_here else moment.version,
                sequence=None if numbered is None else numbered.sequence,
                actor_id=self._actor if actor is None else actor,
                message=message,
                created_at=self._clock(),
            )
            self._references.check_retained(moment)
            moment.loaded.table.check_version_store()
            failpoint(_CHECKED)
            if not self._refs.create(tag):
                raise TagExists(location=self._root.location, tag=name)
            failpoint(_WRITTEN)
            try:
                # Whoever deletes the branch looks for tags after it has lost its name.
                self._references.check_retained(moment, not_by=name)
            except OmniGraphError:
                self._refs.delete(name, tag)
                raise
            return tag

    def list(self, *, timeout: float = OPERATION_SECONDS) -> list[Tag]:
        """List all tags, by name."""
        self._root.check_open()
        with public_call(timeout):
            return self._refs.list()

    def get(self, name: str, *, timeout: float = OPERATION_SECONDS) -> Tag:
        """Return a tag."""
        self._root.check_open()
        with public_call(timeout):
            tag = self._refs.get(name)
            if tag is None:
                raise self._refs.unknown_tag(name)
            return tag

    def delete(self, name: str, *, timeout: float = OPERATION_SECONDS) -> None:
        """Delete a tag. What only it has kept may be cleaned up then."""
        self._root.check_open()
        with public_call(timeout):
            check_writable(self._root)
            if not self._refs.delete(name):
                raise self._refs.unknown_tag(name)
            failpoint(_REMOVED)


def _check_name(name: Any) -> None:
    """Refuse what could not be the name of a branch either."""
    try:
        native_name(name)
    except InvalidBranchName as error:
        raise InvalidTagName(name=error.name, rule=error.rule) from error
