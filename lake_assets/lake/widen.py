"""Columns that get a wider type: a table's files written anew, in one commit for its readers.

Delta has a feature for wider types without new files, which many readers cannot open. What is wider
than what is not decided here.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq
from tenacity import retry, retry_if_exception_type, stop_after_attempt

from lake_assets.errors import CommitConflictError
from lake_assets.lake.change import Commit, DataFile
from lake_assets.lake.commits import CommitDoor
from lake_assets.lake.deletions import Mask, kept_rows, without_deleted
from lake_assets.lake.files import active_files
from lake_assets.lake.gate import ensure_usable
from lake_assets.lake.table_features import Use
from lake_assets.lake.writer import write_pieces
from lake_assets.model.tables import TableRef

WIDENED = "lake_assets.widened"
"""Key in a commit's custom metadata: the columns that became wider."""

_ROWS_AT_ONCE = 131_072
"""Rows in memory, some tens of MB; they become a row group, and small ones read slowly."""

_TRIES = 5
"""Tries where another process appends to the table meanwhile, as a requeue does."""


def widen(
    door: CommitDoor, lake: Path, tables: Mapping[TableRef, pa.Schema]
) -> dict[TableRef, list[str]]:
    """Make the tables' columns hold what the schemas hold; a repeated call changes nothing.

    Columns and fields of structs that are missing are added, and no file changes. Where a type is
    wider, the table's files are written anew. Columns that the schema lacks stay. A process that
    dies on its way leaves files that no reader sees.

    Returns:
        The tables whose files were written anew, with the columns that became wider.

    Raises:
        CommitConflictError: another process keeps changing a table.
        LakeError: the lake cannot be written, or a type does not hold the rows that are there.
        TableFeatureError: a table's features forbid it; the table is left as it is.
    """
    found = {table: _rewrite(door, lake, table, schema) for table, schema in tables.items()}
    done = {table: names for table, names in found.items() if names}
    door.add_columns({t: schema for t, schema in tables.items() if t not in done})
    return done


@retry(
    retry=retry_if_exception_type(CommitConflictError),
    stop=stop_after_attempt(_TRIES),
    reraise=True,
)
def _rewrite(door: CommitDoor, lake: Path, table: TableRef, schema: pa.Schema) -> list[str]:
    handle = door.fresh(table)
    have = pa.schema(handle.schema().to_arrow())
    names = [
        field.name
        for field in have
        if field.name in schema.names and _is_other(field.type, schema.field(field.name).type)
    ]
    if not names:
        return []
    ensure_usable(handle, Use.READ, Use.REPLACE)
    version, target = handle.version(), _target(have, schema)
    folder, kept = table.path(lake), kept_rows(handle)
    files = [_write(folder, file, target, kept.get(file.path)) for file in active_files(handle)]
    info = {WIDENED: ", ".join(names)}
    door.replace([Commit(table=table, files=files, info=info, seen=version)], target)
    return names


def _target(have: pa.Schema, schema: pa.Schema) -> pa.Schema:
    """The columns in the order that they have, then the new ones."""
    fields = {field.name: field for field in have} | {field.name: field for field in schema}
    return pa.schema(list(fields.values()))


def _is_other(have: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a type differs by more than fields that a struct gains."""
    if pa.types.is_struct(have) and pa.types.is_struct(wanted):
        fields = {field.name: field.type for field in wanted}
        return any(_is_other(one.type, fields.get(one.name, one.type)) for one in have)
    if pa.types.is_list(have) and pa.types.is_list(wanted):
        return _is_other(have.value_type, wanted.value_type)
    if pa.types.is_map(have) and pa.types.is_map(wanted):
        pairs = ((have.key_type, wanted.key_type), (have.item_type, wanted.item_type))
        return any(_is_other(*pair) for pair in pairs)
    return bool(have != wanted)


def _write(folder: Path, file: DataFile, schema: pa.Schema, kept: Mask | None) -> DataFile:
    path = str(PurePosixPath(file.path).with_name(f"part-{uuid.uuid4()}.parquet"))
    stored = pa.schema([field for field in schema if field.name not in file.partition])
    with pq.ParquetFile(folder / file.path) as source:
        pieces = _cast(source.iter_batches(_ROWS_AT_ONCE), stored, kept)
        written = write_pieces(pieces, stored, folder, path)
    return DataFile(partition=file.partition, **written)  # type: ignore[arg-type]


def _cast(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, kept: Mask | None
) -> Iterator[pa.Table]:
    start = 0
    for batch in batches:
        arrays = [
            batch[field.name].cast(field.type)
            if field.name in batch.schema.names
            else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        yield without_deleted(pa.Table.from_arrays(arrays, schema=schema), kept, start)
        start += batch.num_rows
