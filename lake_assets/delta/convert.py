"""A folder of Parquet files made a Delta table where it is: a log beside them, and no file touched.

What deltalake's own conversion takes for something else is refused before: it reads hidden folders,
and types that Delta has not as others. The folder is somebody else's, and no table of a lake.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema, convert_to_deltalake
from deltalake.exceptions import DeltaError

from lake_assets.errors import LakeError, first_line
from lake_assets.model.ddl import SCALARS, Column, Scalar, columns_of_ddl
from lake_assets.parquet.read_file import opened

_LOG = "_delta_log"
_NEVER_IN_A_NAME = set(" ,;{}()\n\t=")
"""What Delta takes in no column's name without column mapping."""

_ARROW = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}
"""Types of columns that folders are called by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """The table that a folder became."""

    files: int
    rows: int
    columns: pa.Schema


def convert(folder: Path, partition_by: str = "") -> Converted:
    """Make a folder's Parquet files a Delta table, by one commit; no file is written but its log.

    Args:
        folder: of the files, and of folders called `day=2026-03-01`.
        partition_by: the columns that these are of, as in Spark's DDL: `day date, country string`.

    Raises:
        LakeError: there is a table already, no file, or what a table cannot have; nothing is
            changed then.
    """
    split = _split(folder, partition_by)
    if (folder / _LOG).exists():
        raise LakeError(str(folder), "is a Delta table already", "Read it as it is")
    files = sorted(_files(folder))
    if not files:
        step = "Name the folder that has them, or has the folders `column=value` that do"
        raise LakeError(str(folder), "has no Parquet file", step)
    _ensure_placed(folder, files, [field.name for field in split])
    first, columns = files[0], _columns(files[0])
    for file in files[1:]:
        _ensure_same(folder, first, columns, file)
    _ensure_names(folder, [*columns, *(field.name for field in split)])
    try:
        convert_to_deltalake(
            folder,
            partition_by=Schema.from_arrow(split) if len(split) else None,
            partition_strategy="hive" if len(split) else None,
        )
        handle = DeltaTable(folder)
    except (DeltaError, OSError, ValueError) as problem:
        fact = f"cannot be made a Delta table ({first_line(problem)})"
        raise LakeError(str(folder), fact, "See to its files and to its permissions") from problem
    told = pa.table(handle.get_add_actions(flatten=True))
    rows = sum(told["num_records"].to_pylist())
    schema = pa.schema(handle.schema().to_arrow())
    return Converted(files=told.num_rows, rows=rows, columns=schema)


def _split(folder: Path, partition_by: str) -> pa.Schema:
    try:
        columns = columns_of_ddl(partition_by) if partition_by else ()
    except ValueError as problem:
        step = "Write names and types: `day date, country string`"
        raise LakeError(str(folder), f"--partition-by: {problem}", step) from problem
    return pa.schema([pa.field(column.name, _type_of(folder, column)) for column in columns])


def _type_of(folder: Path, column: Column) -> pa.DataType:
    kind = column.type
    if isinstance(kind, Scalar) and kind.name in _ARROW:
        return _ARROW[kind.name]
    words = ", ".join(name for name in SCALARS if name in _ARROW)
    fact = f"--partition-by: {column.name} is of a type that names no folder"
    raise LakeError(str(folder), fact, f"Use one of {words}")


def _files(folder: Path) -> Iterator[Path]:
    """The Parquet files below a folder.

    Raises:
        LakeError: some are hidden, or cannot be listed.
    """
    try:
        found = [path for path in folder.rglob("*.parquet") if path.is_file()]
    except OSError as problem:
        raise LakeError(str(folder), f"cannot be listed ({problem})", "See to it") from problem
    for path in found:
        parts = path.relative_to(folder).parts
        if any(part.startswith((".", "_")) for part in parts):
            fact = f"has a hidden file {path.relative_to(folder)}, as unfinished jobs leave them"
            raise LakeError(str(folder), fact, "Move it away, or name a folder without such")
        yield path


def _ensure_placed(folder: Path, files: Sequence[Path], names: Sequence[str]) -> None:
    """Make sure that files are in folders of the columns, in their order."""
    for file in files:
        parts = file.relative_to(folder).parts[:-1]
        found = [part.partition("=")[0] for part in parts]
        if any("=" not in part for part in parts) or found != list(names):
            where = "/".join(parts) or "the folder itself"
            fact = f"has {file.name} in {where}, and is said to be split by {', '.join(names) or 0}"
            step = "Name the columns of its folders: --partition-by 'day date, country string'"
            raise LakeError(str(folder), fact, step)


def _columns(file: Path) -> dict[str, pa.DataType]:
    """A file's columns.

    Raises:
        LakeError: it is none, or has types that Delta has not.
    """
    try:
        with opened(str(file)) as parquet:
            physical = [parquet.schema.column(i) for i in range(len(parquet.schema))]
            schema = parquet.schema_arrow
    except (pa.ArrowException, OSError) as problem:
        fact = f"is no Parquet file that can be read ({first_line(problem)})"
        raise LakeError(str(file), fact, "Repair it, or move it away") from problem
    for column in physical:
        if column.physical_type == "INT96":
            step = "Write it anew with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"
            fact = f"has times of the former type INT96 in {column.path}, which say no zone"
            raise LakeError(str(file), fact, step)
    for field in schema:
        if unfit := _unfit(field.type):
            step = "Write it with another type, or read it as a feed of files"
            fact = f"has column {field.name} of type {unfit}, which Delta does not have"
            raise LakeError(str(file), fact, step)
    return {field.name: field.type for field in schema}


def _unfit(kind: pa.DataType) -> str:
    """A type in another that Delta tables cannot have, in words; empty if there is none."""
    if pa.types.is_nested(kind):
        inner = (kind.field(i).type for i in range(kind.num_fields))
        return next((found for one in inner if (found := _unfit(one))), "")
    if pa.types.is_timestamp(kind):
        return "" if kind.unit in {"ms", "us"} else str(kind)
    fits = (
        pa.types.is_signed_integer(kind),
        pa.types.is_float32(kind) or pa.types.is_float64(kind),
        pa.types.is_boolean(kind) or pa.types.is_date32(kind),
        pa.types.is_string(kind) or pa.types.is_large_string(kind),
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
        pa.types.is_decimal128(kind),
    )
    return "" if any(fits) else str(kind)


def _ensure_same(folder: Path, first: Path, columns: Mapping[str, pa.DataType], file: Path) -> None:
    """Make sure that a file's columns have the types of the first file's; it may lack some."""
    for name, kind in _columns(file).items():
        if name in columns and columns[name] != kind:
            fact = (
                f"has column {name} as {columns[name]} in {first.relative_to(folder)}, "
                f"and as {kind} in {file.relative_to(folder)}"
            )
            raise LakeError(str(folder), fact, "Read it as a feed of files, which takes both")


def _ensure_names(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        if set(name) & _NEVER_IN_A_NAME:
            fact = f"has a column {name!r}, and a Delta table cannot have such a name"
            raise LakeError(str(folder), fact, "Read it as a feed of files, whose `select` renames")
    lower = [name.lower() for name in names]
    twice = next((name for name in lower if lower.count(name) > 1), None)
    if twice is not None:
        fact = f"has two columns called {twice}, but for the case"
        raise LakeError(str(folder), fact, "Leave one of them out")
