"""A place and how to reach it: one value for Lance and for obstore.

Always: resolved once, frozen, equal by value, picklable; both libraries get the same options. It
prints the names of its options and none of their values. ``lance_options`` is the only way to the
values. What is below a place has the version store of the place.

Not here: how options are spelled and checked (``options``), how stores are built (``stores``), what
a version store is for (``_versions``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from omnigraph_l1._places.options import OptionValue, settle_options
from omnigraph_l1._places.place import Place
from omnigraph_l1._places.stores import open_store
from omnigraph_l1._places.version_store import (
    OPTION,
    DynamoTable,
    SqliteFile,
    split_options,
    sqlite_file,
)
from omnigraph_l1.errors import InvalidStorageOptions

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["Storage"]

_Options = tuple[tuple[str, str], ...]


def _only_names(options: _Options) -> str:
    return "<" + ", ".join(name for name, _ in options) + ">"


@attrs.frozen
class Storage:
    """A place, and the options with which Lance and obstore reach it."""

    place: Place
    _options: _Options = attrs.field(default=(), repr=_only_names, kw_only=True)
    version_store: Storage | SqliteFile | DynamoTable | None = attrs.field(
        default=None, kw_only=True
    )
    """What decides which version is next, and keeps refs, where the place itself cannot."""

    @classmethod
    def resolve(
        cls,
        place: str | os.PathLike[str] | Place | Storage,
        storage_options: Mapping[str, OptionValue] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> Storage:
        """Settle the options for a place; ``environ`` stands for the environment variables.

        Raise ``InvalidPlace`` or ``InvalidStorageOptions``, which names the option. Nothing is
        asked of the store. A Storage without options is given back as it is.
        """
        if isinstance(place, Storage):
            if storage_options is None:
                return place
            place = place.place
        where = Place.parse(place)
        variables = os.environ if environ is None else environ
        rest, versions, ours = split_options(storage_options)
        settled = settle_options(where, rest, variables)
        return cls(
            where,
            options=tuple(settled.items()),
            version_store=_version_store(where, versions, {**(rest or {}), **ours}, variables),
        )

    @property
    def lance_options(self) -> dict[str, str]:
        """The ``storage_options`` for Lance. They hold secrets: do not print or log them."""
        return dict(self._options)

    def object_store(self) -> ObjectStore:
        """Give obstore's store, rooted at the place; one in each process for equal storages.

        Raise ``UsedAfterFork`` in a child that was forked after its parent had used any.
        """
        return open_store(self.place, self._options)

    def child(self, name: str) -> Storage:
        """Give the storage of a place below this one."""
        return attrs.evolve(self, place=self.place / name)

    def with_options(self, **changed: str) -> Storage:
        """Give the same with some options changed, under canonical names. Local has none."""
        if self.place.is_local:
            return self
        return attrs.evolve(self, options=tuple(sorted((self.lance_options | changed).items())))

    def __str__(self) -> str:
        return str(self.place)


def _version_store(
    place: Place, given: object, options: Mapping[str, OptionValue], environ: Mapping[str, str]
) -> Storage | SqliteFile | DynamoTable | None:
    """Settle where versions are decided; None where the place does that by itself."""
    if given is None and place.dynamodb_table:
        return DynamoTable(place.dynamodb_table)
    if given is None:
        return None
    if place.is_local or place.dynamodb_table:
        why = "has locks" if place.is_local else "names a DynamoDB table"
        raise _no_version_store(place, f"is not needed: this place {why}", "Leave it out.")
    if not isinstance(given, str) or not given:
        remedy = "Give sqlite:///absolute/path, or the URI of a bucket that honours conditions."
        raise _no_version_store(place, "is no text", remedy)
    file = sqlite_file(place, given)
    if file is not None:
        return file
    found = Storage.resolve(given, options, environ=environ)
    if found.place.is_local or found.place.dynamodb_table:
        remedy = "Write sqlite:///absolute/path for a file, or the URI of a bucket."
        raise _no_version_store(place, f"is {found.place}, which cannot be one", remedy)
    return found


def _no_version_store(place: Place, reason: str, remedy: str) -> InvalidStorageOptions:
    return InvalidStorageOptions(place=str(place), option=OPTION, reason=reason, remedy=remedy)
