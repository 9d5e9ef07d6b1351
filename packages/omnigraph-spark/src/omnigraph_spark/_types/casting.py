"""Values brought into the types that the other side has.

Always: exact, or refused with the name of the column: nothing is rounded, cut or wrapped around.
"""

from __future__ import annotations

import pyarrow as pa

from omnigraph_spark.errors import InexactValue

__all__ = ["cast_batch"]


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema, *, table_key: str) -> pa.RecordBatch:
    """Give a batch, whose columns are those of the schema, in the types of the schema."""
    if not len(schema):
        return batch  # without columns it still knows how many rows there are
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
    # Spark takes times of day as nanoseconds, and forgets later what is finer than microseconds.
    coarse = _coarse(wanted)
    if coarse != wanted:
        found = found.cast(coarse)
    return found if found.type == wanted else found.cast(wanted)


def _coarse(wanted: pa.DataType) -> pa.DataType:
    """Give a type of Spark's with microseconds for nanoseconds."""
    if pa.types.is_time64(wanted):
        return pa.time64("us")
    if pa.types.is_list(wanted):
        return pa.list_(_coarse_field(wanted.value_field))
    if pa.types.is_struct(wanted):
        fields = (wanted.field(index) for index in range(wanted.num_fields))
        return pa.struct([_coarse_field(field) for field in fields])
    if pa.types.is_map(wanted):
        return pa.map_(_coarse_field(wanted.key_field), _coarse_field(wanted.item_field))
    return wanted


def _coarse_field(field: pa.Field) -> pa.Field:
    return field.with_type(_coarse(field.type))
