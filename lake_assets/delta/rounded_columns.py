"""Columns of integers that are to be doubles, which do not hold all of them. Pure."""

import pyarrow as pa


def rounded_columns(have: pa.Schema, wanted: pa.Schema) -> list[str]:
    """Columns that have integers, at any depth, where doubles are wanted."""
    types = {column.name: column.type for column in wanted}
    return [
        column.name
        for column in have
        if column.name in types and _is_rounded(column.type, types[column.name])
    ]


def _is_rounded(have: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_struct(have) and pa.types.is_struct(wanted):
        fields = {field.name: field.type for field in wanted}
        return any(f.name in fields and _is_rounded(f.type, fields[f.name]) for f in have)
    if pa.types.is_list(have) and pa.types.is_list(wanted):
        return _is_rounded(have.value_type, wanted.value_type)
    if pa.types.is_map(have) and pa.types.is_map(wanted):
        return _is_rounded(have.item_type, wanted.item_type)
    return bool(pa.types.is_integer(have) and pa.types.is_floating(wanted))
