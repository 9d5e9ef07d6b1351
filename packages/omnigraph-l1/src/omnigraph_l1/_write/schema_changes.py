"""Changes of columns, annotations or the whole schema, which rewrite no data.

Invariant: each is one commit of Lance that carries an id, and says whether it follows its base. A
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

import pyarrow as pa
from lance import LanceOperation
from lance.schema import LanceSchema

from omnigraph_l1._dataset.argument_checks import (
    check_schema,
    column_problems,
    is_mapping,
    is_texts,
    parse_fields,
    parse_list,
)
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._lance.lance_failures import LanceFailure, recognize_failures, translate_errors
from omnigraph_l1._lance.private_hooks import add_fields, drop_fields, with_metadata
from omnigraph_l1._write.staged_changes import describe_change
from omnigraph_l1._write.table_commit import PRIMARY_KEY, CommitResult, commit, unchanged_result
from omnigraph_l1.errors import InvalidRequest, StorageError

__all__ = ["add_columns", "annotate", "configure", "drop_columns", "fence", "replace_schema"]

_KEY = PRIMARY_KEY.decode()

_Values = Mapping[str, str]


def add_columns(pinned: PinnedDataset, fields: Sequence[pa.Field]) -> CommitResult:
    """Add columns that are null in every row."""
    pinned.check_not_stale()
    fields = parse_fields(fields, location=pinned.location)
    _refuse(pinned, _problems_of_new(fields, pinned.dataset.schema.names))
    if not fields:
        return unchanged_result(pinned, "")
    with translate_errors(pinned.location):
        dataset = pinned.dataset
        fragments = [fragment.metadata for fragment in dataset.get_fragments()]
        first_id = dataset.max_field_id + 1
    try:
        with recognize_failures():
            schema = add_fields(dataset.lance_schema, fields, first_id=first_id)
    except LanceFailure as failure:
        raise _bad_schema(pinned, failure) from failure.cause
    operation = LanceOperation.Merge(fragments, schema, preserves_nullability=True)
    return _commit(pinned, "addition of columns", operation)


def fence(pinned: PinnedDataset, *, schema_metadata: _Values) -> CommitResult:
    """Commit a version with the same rows and columns, which lists all fragments again.

    Lance refuses each merge and each compaction that was based on a version before it, whatever its
    rows. Metadata of the schema that changes here is therefore seen by all that is written later.
    """
    pinned.check_not_stale()
    _refuse(pinned, _problems_of_annotations(pinned.dataset.schema, schema_metadata, {}))
    with translate_errors(pinned.location):
        fragments = [fragment.metadata for fragment in pinned.dataset.get_fragments()]
        schema = with_metadata(pinned.dataset.lance_schema, schema_metadata)
    operation = LanceOperation.Merge(fragments, schema, preserves_nullability=True)
    return _commit(pinned, "fence", operation)


def drop_columns(pinned: PinnedDataset, names: Sequence[str]) -> CommitResult:
    """Drop columns. Their data stays in the files until these are rewritten."""
    pinned.check_not_stale()
    names = parse_list(names, location=pinned.location, what="columns")
    _refuse(pinned, _problems_of_dropped(pinned.dataset.schema, names))
    if not names:
        return unchanged_result(pinned, "")
    with translate_errors(pinned.location):
        schema = drop_fields(pinned.dataset.lance_schema, names)
    operation = LanceOperation.Project(schema, preserves_nullability=True)
    return _commit(pinned, "drop of columns", operation)


def annotate(
    pinned: PinnedDataset, *, schema_metadata: _Values, field_metadata: Mapping[str, _Values]
) -> CommitResult:
    """Merge metadata into that of the schema and of columns, all in one commit."""
    pinned.check_not_stale()
    schema: pa.Schema = pinned.dataset.schema
    _refuse(pinned, _problems_of_annotations(schema, schema_metadata, field_metadata))
    if not schema_metadata and not any(field_metadata.values()):
        return unchanged_result(pinned, "")
    with translate_errors(pinned.location):
        ids = {field.name(): field.id() for field in pinned.dataset.lance_schema.fields()}
    operation = LanceOperation.UpdateConfig(
        schema_metadata_updates=_update_map(schema_metadata) if schema_metadata else None,
        field_metadata_updates={
            ids[name]: _update_map(values) for name, values in field_metadata.items() if values
        }
        or None,
    )
    return _commit(pinned, "annotation", operation)


def configure(pinned: PinnedDataset, settings: _Values) -> CommitResult:
    """Merge settings into the config of the dataset."""
    pinned.check_not_stale()
    if not settings:
        return unchanged_result(pinned, "")
    operation = LanceOperation.UpdateConfig(config_updates=_update_map(settings))
    return _commit(pinned, "setting", operation)


def replace_schema(pinned: PinnedDataset, schema: pa.Schema) -> CommitResult:
    """Make an empty table with another schema the next version. Older versions stay."""
    pinned.check_not_stale()
    schema = check_schema(schema, location=pinned.location)
    try:
        with recognize_failures():
            operation = LanceOperation.Overwrite(LanceSchema.from_pyarrow(schema), [])
    except LanceFailure as failure:
        raise _bad_schema(pinned, failure) from failure.cause
    return _commit(pinned, "replacement of the schema", operation, replaces_all=True)


def _commit(
    pinned: PinnedDataset,
    name: str,
    operation: LanceOperation.BaseOperation,
    *,
    replaces_all: bool = False,
) -> CommitResult:
    change = describe_change(
        pinned, name, operation, rewrites_nothing=True, replaces_all=replaces_all
    )
    return commit(pinned, change, properties={}, transaction_id=None)


def _update_map(values: _Values) -> LanceOperation.UpdateMap:
    return LanceOperation.UpdateMap(dict(values))


def _problems_of_new(fields: Sequence[pa.Field], names: Sequence[str]) -> Iterator[str]:
    yield from column_problems(fields, names)
    for field in fields:
        if not field.nullable:
            yield f"column {field.name!r} must be nullable: it is null in the rows that are there"
        if PRIMARY_KEY in (field.metadata or {}):
            yield f"column {field.name!r} would be null in each row and cannot be their key"


def _problems_of_dropped(schema: pa.Schema, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name not in schema.names:
            yield f"it has no column {name!r}; its columns are: {', '.join(schema.names)}"
        elif PRIMARY_KEY in (schema.field(name).metadata or {}):
            yield f"column {name!r} is its annotated key"
    if all(name in names for name in schema.names):
        yield "a table has at least one column"


def _problems_of_annotations(
    schema: pa.Schema, schema_metadata: _Values, field_metadata: Mapping[str, _Values]
) -> Iterator[str]:
    by_column = field_metadata.values() if is_mapping(field_metadata) else [field_metadata]
    unfit = [values for values in (schema_metadata, *by_column) if not is_texts(values)]
    for values in unfit:
        yield f"an annotation is a text under a name, not {values!r}"
    if unfit:
        return
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


def _refuse(pinned: PinnedDataset, problems: Iterator[str] | Sequence[str]) -> None:
    listed = list(problems)
    if listed:
        raise InvalidRequest(location=str(pinned.location), reason="; ".join(listed))


def _bad_schema(pinned: PinnedDataset, failure: LanceFailure) -> Exception:
    error = failure.at(pinned.location)
    if type(error) is StorageError:
        # Lance reports a schema that it cannot store in many different ways.
        return InvalidRequest(location=str(pinned.location), reason=failure.words)
    return error
