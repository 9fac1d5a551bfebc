"""Reading many tables as one DataFrame, by the files their logs name: one scan, not N plans.

Tables whose files may have deleted rows, or lack partition columns as other engines' do, are read
by Delta's own reader instead, one by one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_paths import SPARK_OPTIONS, data_file, folder_of
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.jvm import spark_schema


class TableVersion(NamedTuple):
    """A table as Delta's reader is to find it."""

    folder: LakeUri
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """What is to be read."""

    files: tuple[LakeUri, ...] = ()
    """Parquet files, all of whose rows count."""

    versions: tuple[TableVersion, ...] = ()
    """Tables whose files may have deleted rows, or lack partition columns."""


def contents_of(handles: Iterable[DeltaTable]) -> Contents:
    """What the rows of these tables are read from, at the versions they are at.

    Raises:
        TableFeatureError: a table cannot be read here.
    """
    files: list[LakeUri] = []
    versions: list[TableVersion] = []
    for handle in handles:
        folder = folder_of(handle)
        features_of(handle).ensure(Use.READ)
        if are_readable_by_path(handle):
            files += [data_file(folder, file.path) for file in active_files(handle)]
        else:
            versions.append(TableVersion(folder, handle.version()))
    return Contents(files=tuple(files), versions=tuple(versions))


def are_readable_by_path(handle: DeltaTable) -> bool:
    """Whether a table's files hold its rows, all of them and with all columns."""
    if features_of(handle).may_have_deletion_vectors:
        return False
    is_split = bool(handle.metadata().partition_columns)
    return not is_split or all(file.has_all_columns for file in active_files(handle))


def read_tables(
    session: SparkSession,
    handles: Sequence[DeltaTable],
    columns: pa.Schema | None = None,
    *,
    named: str | None = None,
) -> DataFrame:
    """All rows of these tables; a column that a table or file lacks is null.

    Args:
        session: whose DataFrame it becomes.
        handles: the tables, at the versions to read.
        columns: what the rows have; the columns of these tables by default.
        named: a further column, for the name of the row's table.

    Raises:
        TableFeatureError: a table cannot be read here.
    """
    schema = columns_of_all(handles) if columns is None else columns
    return read_contents(session, contents_of(handles), schema, named=named)


def read_contents(
    session: SparkSession, contents: Contents, columns: pa.Schema, *, named: str | None = None
) -> DataFrame:
    """As `read_tables`, of contents that are known."""
    schema = spark_schema(columns)
    frames = [_version(session, version, schema, named) for version in contents.versions]
    if contents.files or not frames:
        rows = read_files(session, contents.files, columns)
        if named is not None:
            # <lake>/<layer>/<table>/<file>
            path = F.col("_metadata.file_path") if contents.files else F.lit(None).cast("string")
            rows = rows.select("*", F.element_at(F.split(path, "/"), -2).alias(named))
        frames.insert(0, rows)
    return reduce(DataFrame.unionByName, frames)


def read_files(session: SparkSession, files: Sequence[LakeUri], columns: pa.Schema) -> DataFrame:
    """All rows of these Parquet files; a column that a file lacks is null."""
    schema = spark_schema(columns)
    if not files:
        return session.createDataFrame([], schema)
    paths = [file.for_spark() for file in files]
    return session.read.options(**SPARK_OPTIONS).schema(schema).parquet(*paths)


def columns_of_all(handles: Sequence[DeltaTable]) -> pa.Schema:
    """The columns that any of the tables has.

    Raises:
        LakeError: a column has another type in one than in another, such as where a view was
            computed by another declaration for some keys only.
    """
    schemas = [pa.schema(handle.schema()) for handle in handles]
    try:
        return pa.unify_schemas(schemas)
    except (pa.ArrowTypeError, pa.ArrowInvalid) as problem:
        raise _differing(handles, schemas) from problem


def _differing(handles: Sequence[DeltaTable], schemas: Sequence[pa.Schema]) -> LakeError:
    first: dict[str, tuple[str, pa.Field]] = {}
    for handle, schema in zip(handles, schemas, strict=True):
        table = folder_of(handle).name
        for field in schema:
            before, known = first.setdefault(field.name, (table, field))
            if not _go_together(known, field):
                return LakeError(
                    table,
                    f"has column {field.name!r} as {field.type}, and {before} as {known.type}",
                    "Bring both up to date with `lake-assets refresh`, or rebuild them",
                )
    raise ValueError(first)


def _go_together(one: pa.Field, other: pa.Field) -> bool:
    try:
        pa.unify_schemas([pa.schema([one]), pa.schema([other])])
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return False
    return True


def _version(
    session: SparkSession, source: TableVersion, schema: StructType, named: str | None
) -> DataFrame:
    reader = session.read.format("delta").option("versionAsOf", source.version)
    rows = reader.load(source.folder.for_spark())
    label = [] if named is None else [F.lit(source.folder.name).alias(named)]
    fitting = [
        _fitting(F.col(f"`{field.name}`"), rows.schema[field.name].dataType, field.dataType)
        if field.name in rows.columns
        else F.lit(None).cast(field.dataType)
        for field in schema.fields
    ]
    names = schema.names
    return rows.select(
        *(column.alias(name) for column, name in zip(fitting, names, strict=True)), *label
    )


def _fitting(value: Column, have: DataType, wanted: DataType) -> Column:
    """A value with the fields that structs gained in other tables, which are null."""
    if have == wanted:
        return value
    if isinstance(have, StructType) and isinstance(wanted, StructType):
        fields = [
            _fitting(value.getField(field.name), have[field.name].dataType, field.dataType)
            if field.name in have.names
            else F.lit(None).cast(field.dataType)
            for field in wanted.fields
        ]
        named = [column.alias(name) for column, name in zip(fields, wanted.names, strict=True)]
        return F.when(value.isNotNull(), F.struct(*named))
    if isinstance(have, ArrayType) and isinstance(wanted, ArrayType):
        kinds = (have.elementType, wanted.elementType)
        return F.transform(value, lambda one: _fitting(one, *kinds))
    if isinstance(have, MapType) and isinstance(wanted, MapType):
        pair = (have.valueType, wanted.valueType)
        return F.transform_values(value, lambda _, one: _fitting(one, *pair))
    return value.cast(wanted)
