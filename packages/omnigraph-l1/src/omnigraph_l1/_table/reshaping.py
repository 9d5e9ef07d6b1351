"""Columns, annotations, or the whole schema: changes of a table that rewrite no data.

Always: each is one commit of Lance that carries an id, and says whether it follows its base. A
column that is dropped keeps its place in the data files until they are rewritten; one that is
added again is another, and null. What cannot be done is refused with the reason before anything
is written.

Lance drops the indexes over a column together with it, and all of them when the schema is
replaced; its config and its count of row ids go on. Where it puts the drop of a column on top of
annotations that came in between, those of them that the older schema lacked are lost: the commit
then does not follow its base.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from lance import LanceOperation
from lance.schema import LanceSchema

from omnigraph_l1._lance.failures import LanceFailure, lance_border, lance_calls
from omnigraph_l1._lance.schemas import extended, without
from omnigraph_l1._table.committing import commit
from omnigraph_l1._table.merging import PRIMARY_KEY
from omnigraph_l1._table.outcomes import Outcome, unchanged
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.staging import staged
from omnigraph_l1.errors import InvalidRequest, StorageError

__all__ = ["add_columns", "annotate", "configure", "drop_columns", "replace_schema"]

_LANCES_OWN = frozenset(
    {
        "_rowid",
        "_rowaddr",
        "_rowoffset",
        "_row_created_at_version",
        "_row_last_updated_at_version",
    }
)
_KEY = PRIMARY_KEY.decode()

_Values = Mapping[str, str]


def add_columns(pinned: Pinned, fields: Sequence[pa.Field]) -> Outcome:
    """Add columns that are null in every row."""
    pinned.refuse_stale()
    names = list(pinned.dataset.schema.names)
    for field in fields:
        _refuse(pinned, _problems_of_new(field, names))
        names.append(field.name)
    if not fields:
        return unchanged(pinned, "")
    with lance_border(pinned.place):
        dataset = pinned.dataset
        fragments = [fragment.metadata for fragment in dataset.get_fragments()]
        first_id = dataset.max_field_id + 1
    try:
        with lance_calls():
            schema = extended(dataset.lance_schema, fields, first_id=first_id)
    except LanceFailure as failure:
        raise _bad_schema(pinned, failure) from failure.cause
    operation = LanceOperation.Merge(fragments, schema, preserves_nullability=True)
    return _commit(pinned, "addition of columns", operation)


def drop_columns(pinned: Pinned, names: Sequence[str]) -> Outcome:
    """Drop columns. Their data stays in the files until these are rewritten."""
    pinned.refuse_stale()
    _refuse(pinned, _problems_of_dropped(pinned.dataset.schema, names))
    if not names:
        return unchanged(pinned, "")
    with lance_border(pinned.place):
        schema = without(pinned.dataset.lance_schema, names)
    operation = LanceOperation.Project(schema, preserves_nullability=True)
    return _commit(pinned, "drop of columns", operation)


def annotate(
    pinned: Pinned, *, schema_metadata: _Values, field_metadata: Mapping[str, _Values]
) -> Outcome:
    """Merge metadata into that of the schema and of columns, all in one commit."""
    pinned.refuse_stale()
    schema: pa.Schema = pinned.dataset.schema
    _refuse(pinned, _problems_of_annotations(schema, schema_metadata, field_metadata))
    if not schema_metadata and not any(field_metadata.values()):
        return unchanged(pinned, "")
    with lance_border(pinned.place):
        ids = {field.name(): field.id() for field in pinned.dataset.lance_schema.fields()}
    operation = LanceOperation.UpdateConfig(
        schema_metadata_updates=_merged(schema_metadata) if schema_metadata else None,
        field_metadata_updates={
            ids[name]: _merged(values) for name, values in field_metadata.items() if values
        }
        or None,
    )
    return _commit(pinned, "annotation", operation)


def configure(pinned: Pinned, settings: _Values) -> Outcome:
    """Merge settings into the config of the dataset."""
    pinned.refuse_stale()
    if not settings:
        return unchanged(pinned, "")
    operation = LanceOperation.UpdateConfig(config_updates=_merged(settings))
    return _commit(pinned, "setting", operation)


def replace_schema(pinned: Pinned, schema: pa.Schema) -> Outcome:
    """Make an empty table with another schema the next version. Older versions stay."""
    pinned.refuse_stale()
    names: list[str] = []
    for field in schema:
        _refuse(pinned, _problems_of_name(field, names))
        names.append(field.name)
    if not names:
        _refuse(pinned, ["a table has at least one column"])
    try:
        with lance_calls():
            operation = LanceOperation.Overwrite(LanceSchema.from_pyarrow(schema), [])
    except LanceFailure as failure:
        raise _bad_schema(pinned, failure) from failure.cause
    return _commit(pinned, "replacement of the schema", operation, replaces_all=True)


def _commit(
    pinned: Pinned,
    name: str,
    operation: LanceOperation.BaseOperation,
    *,
    replaces_all: bool = False,
) -> Outcome:
    change = staged(pinned, name, operation, rewrites_nothing=True, replaces_all=replaces_all)
    return commit(pinned, change, properties={}, transaction_id=None)


def _merged(values: _Values) -> LanceOperation.UpdateMap:
    return LanceOperation.UpdateMap(dict(values))


def _problems_of_name(field: pa.Field, names: Sequence[str]) -> Iterator[str]:
    if not field.name or field.name in _LANCES_OWN:
        yield f"no column can be called {field.name!r}"
    if field.name in names:
        yield f"there is a column {field.name!r} already"


def _problems_of_new(field: pa.Field, names: Sequence[str]) -> Iterator[str]:
    yield from _problems_of_name(field, names)
    if not field.nullable:
        yield f"column {field.name!r} must be nullable: it is null in the rows that are there"
    if PRIMARY_KEY in (field.metadata or {}):
        yield f"column {field.name!r} is null in the rows that are there and cannot be their key"


def _problems_of_dropped(schema: pa.Schema, names: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in schema.names:
            yield f"it has no column {name!r}; its columns are: {', '.join(schema.names)}"
        elif PRIMARY_KEY in (schema.field(name).metadata or {}):
            yield f"column {name!r} is its annotated key"
    if set(names) >= set(schema.names):
        yield "a table has at least one column"


def _problems_of_annotations(
    schema: pa.Schema, schema_metadata: _Values, field_metadata: Mapping[str, _Values]
) -> Iterator[str]:
    given: list[Mapping[Any, Any]] = [schema_metadata, *field_metadata.values()]
    for key, value in (item for values in given for item in values.items()):
        if not (isinstance(key, str) and isinstance(value, str)):
            yield f"an annotation is a text under a name, not {value!r} under {key!r}"
    for name, values in field_metadata.items():
        if name not in schema.names:
            yield f"it has no column {name!r}; its columns are: {', '.join(schema.names)}"
        elif _KEY in values:
            yield from _problems_of_key(schema, name, values[_KEY])


def _problems_of_key(schema: pa.Schema, name: str, value: str) -> Iterator[str]:
    annotated = [field.name for field in schema if PRIMARY_KEY in (field.metadata or {})]
    if annotated:
        yield f"column {annotated[0]!r} is its annotated key, which can be set only once"
    if value != "true":
        yield f"the annotation {_KEY!r} is 'true' or absent, not {value!r}"
    if schema.field(name).nullable:
        yield f"column {name!r} is nullable and cannot be the key"


def _refuse(pinned: Pinned, problems: Iterator[str] | Sequence[str]) -> None:
    listed = list(problems)
    if listed:
        raise InvalidRequest(place=str(pinned.place), reason="; ".join(listed))


def _bad_schema(pinned: Pinned, failure: LanceFailure) -> Exception:
    error = failure.at(pinned.place)
    if type(error) is StorageError:
        # A schema that Lance cannot store is told in many different ways.
        return InvalidRequest(place=str(pinned.place), reason=failure.words)
    return error
