"""A folder of Parquet files made a Delta table where it is: a log beside them, and no file touched.

By deltalake's own conversion; what that takes for something else is refused before
(`delta.parquet_folder`). The folder is somebody else's, and no table of a lake.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema, convert_to_deltalake

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.parquet_folder import LOG, ensure_fit, ensure_placed, files_in
from lake_assets.errors import LakeError, first_line
from lake_assets.model.ddl import Column, Scalar, columns_of_ddl
from lake_assets.model.validator_messages import fact_and_step
from lake_assets.parquet.arrow_types import SCALARS

_FIRST = f"{0:020}.json"
"""The name of a log's first commit."""

_ARROW = {name: kind for name, kind in SCALARS.items() if name != "binary"}
"""Types of columns that folders are called by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """The table that a folder became."""

    files: int
    rows: int
    columns: pa.Schema


def convert(folder: Path, partition_by: str = "", *, dry_run: bool = False) -> Converted:
    """Make a folder's Parquet files a Delta table, by one commit; no file is written but its log.

    Args:
        folder: of the files, and of folders called `day=2026-03-01`.
        partition_by: the columns that these are of, as in Spark's DDL: `day date, country string`.
        dry_run: whether only to look what would become of them.

    Raises:
        LakeError: there is a table already, no file, or what a table cannot have; nothing is
            changed then.
    """
    split = _split(folder, partition_by)
    if not folder.is_dir():
        raise LakeError(str(folder), "is no folder", "Name the folder of the files")
    if DeltaTable.is_deltatable(str(folder)):
        raise LakeError(str(folder), "is a Delta table already", "Read it as it is")
    files = files_in(folder)
    if not files:
        step = "Name the folder that has them, or has the folders `column=value` that do"
        raise LakeError(str(folder), "has no Parquet file", step)
    ensure_placed(folder, [*files], split)
    ensure_fit(folder, [*files], split)
    if dry_run:
        found = [pq.read_metadata(file) for file in files]
        columns = pa.unify_schemas([one.schema.to_arrow_schema() for one in found])
        rows = sum(one.num_rows for one in found)
        return Converted(files=len(files), rows=rows, columns=pa.schema([*columns, *split]))
    try:
        convert_to_deltalake(
            folder,
            partition_by=Schema.from_arrow(split) if len(split) else None,
            partition_strategy="hive" if len(split) else None,
        )
        handle = DeltaTable(folder)
    except Exception as problem:  # deltalake raises no other for some
        fact = f"cannot be made a Delta table ({first_line(problem)})"
        raise LakeError(str(folder), fact, "See to its files and to its permissions") from problem
    taken = active_files(handle)
    _ensure_judged(folder, files, taken)
    schema = pa.schema(handle.schema().to_arrow())
    return Converted(files=len(taken), rows=sum(file.rows for file in taken), columns=schema)


def _ensure_judged(folder: Path, judged: Mapping[Path, int], taken: Sequence[DataFile]) -> None:
    """Make sure that the table has the files that were looked at; else it is none again."""
    found = {folder / file.path: file.size for file in taken}
    if found == judged:
        return
    other = sorted({path.relative_to(folder) for path, _ in found.items() ^ judged.items()})
    log = folder / LOG
    if [path.name for path in log.glob("*.json")] == [_FIRST]:
        (log / _FIRST).unlink()  # nobody has built upon it
    fact = f"was written to meanwhile: {other[0]} is another now"
    raise LakeError(str(folder), fact, "Wait until whoever writes there is done, and convert it")


def _split(folder: Path, partition_by: str) -> pa.Schema:
    try:
        columns = columns_of_ddl(partition_by) if partition_by else ()
    except ValueError as problem:
        step = "Write names and types: `day date, country string`"
        fact, _ = fact_and_step(str(problem))
        raise LakeError(str(folder), f"--partition-by: {fact}", step) from problem
    return pa.schema([pa.field(column.name, _type_of(folder, column)) for column in columns])


def _type_of(folder: Path, column: Column) -> pa.DataType:
    kind = column.type
    if isinstance(kind, Scalar) and kind.name in _ARROW:
        return _ARROW[kind.name]
    words = ", ".join(_ARROW)
    fact = f"--partition-by: {column.name} is of a type that names no folder"
    raise LakeError(str(folder), fact, f"Use one of {words}")
