"""Cast batches to the types of the other side.

Invariant: values stay exact, or the cast fails with the name of the column. Nothing is rounded,
truncated or wrapped around.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph_spark.errors import InexactValue

__all__ = ["cast_batch"]


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema, *, table_key: str) -> pa.RecordBatch:
    """Return a batch, which has the columns of the schema, with the types of the schema."""
    if not len(schema):
        return batch  # without columns it still has a number of rows
    columns = []
    for field in schema:
        found = batch.column(field.name)
        try:
            columns.append(_cast(found, field.type))
        except pa.ArrowInvalid as error:
            raise InexactValue(
                table_key=table_key,
                column=field.name,
                found=str(found.type),
                wanted=str(field.type),
                detail=str(error),
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    if isinstance(found.type, pa.BaseExtensionType):
        found = found.storage
    # Spark accepts times of day in nanoseconds, and later drops what is finer than microseconds.
    coarse = _with_microseconds(wanted)
    if coarse != wanted:
        found = found.cast(coarse)
    return found if found.type == wanted else found.cast(wanted)


def _with_microseconds(wanted: pa.DataType) -> pa.DataType:
    """Return a type of Spark with microseconds instead of nanoseconds."""
    if pa.types.is_time64(wanted):
        return pa.time64("us")
    if pa.types.is_list(wanted):
        return pa.list_(_field_with_microseconds(wanted.value_field))
    if pa.types.is_struct(wanted):
        fields = (wanted.field(index) for index in range(wanted.num_fields))
        return pa.struct([_field_with_microseconds(field) for field in fields])
    if pa.types.is_map(wanted):
        return pa.map_(
            _field_with_microseconds(wanted.key_field), _field_with_microseconds(wanted.item_field)
        )
    return wanted


def _field_with_microseconds(field: pa.Field) -> pa.Field:
    return field.with_type(_with_microseconds(field.type))
