"""Which columns a declared schema makes, and which names others can have."""

from collections.abc import Container, Iterable

import pyarrow as pa

from lake_assets.formats.json.inference import ADDABLE
from lake_assets.model.ddl import Array, Column, Decimal, Map, Scalar, Type, columns_of_ddl
from lake_assets.model.misfits import RESCUED
from lake_assets.model.sources import ORIGIN_NAMES
from lake_assets.parquet.arrow_types import SCALARS


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """The columns in Arrow, all nullable at any depth."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def arrow_type(kind: Type) -> pa.DataType:
    """A declared type in Arrow."""
    match kind:
        case Scalar(name):
            return SCALARS[name]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(item):
            return pa.list_(pa.field("item", arrow_type(item)))
        case Map(value):
            return pa.map_(pa.string(), arrow_type(value))
    return pa.struct([pa.field(column.name, arrow_type(column.type)) for column in kind.columns])


def column_of(name: str, kind: str) -> pa.Field:
    """A column by its type in DDL."""
    return arrow_schema(columns_of_ddl(f"`{name}` {kind}")).field(0)


def can_be_added(name: str, taken: Iterable[str]) -> bool:
    """Whether a name can be that of a further column."""
    return is_addable(name, {other.lower() for other in taken})


def is_addable(name: str, taken: Container[str]) -> bool:
    """As `can_be_added`, of many names: by those that are taken in lower case."""
    lower = name.lower()
    is_free = lower not in taken and lower not in ORIGIN_NAMES and lower != RESCUED
    return is_free and ADDABLE.fullmatch(name) is not None
