"""One Parquet file of a table: written whole or piece by piece, with its statistics.

What is in it, and which file a row goes to, is the callers' (`parquet.writer`, `delta`).
"""

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.bloom_filters import bloom_options
from lake_assets.parquet.encoding import encodings
from lake_assets.parquet.partitioning import WHOLE, split, without_untold
from lake_assets.parquet.stats import file_stats
from lake_assets.parquet.uploads import Uploads
from lake_assets.storage.store import Store

_SMALL_BYTES = 256 * 1024
"""Of a file's rows in memory, below which Snappy writes it: zstd would make it a third smaller, but
sets up a context a page, which takes as long as all the rest of a small file."""


def write_file(
    store: Store,
    rows: pa.Table,
    folder: LakeUri,
    partition: str = "",
    prefix: str = "part",
    partition_by: Collection[str] = (),
) -> dict[str, object]:
    """Write one new file of a table: its `path` below `folder`, `size`, `rows` and `stats`.

    Of `partition_by` among its columns a log says the one value that there is, and no statistics.
    """
    with Uploads(store) as uploads:
        return put_file(uploads, rows, folder, partition, prefix, partition_by)


def put_file(
    uploads: Uploads,
    rows: pa.Table,
    folder: LakeUri,
    partition: str = "",
    prefix: str = "part",
    partition_by: Collection[str] = (),
) -> dict[str, object]:
    """Hand one new file over to be written; as `write_file` else."""
    name = f"{prefix}-{uuid.uuid4()}.parquet"
    relative = f"{partition}/{name}" if partition else name
    is_small = rows.nbytes < _SMALL_BYTES
    if not is_small and not uploads.takes(rows.nbytes):
        uploads.wrote(folder / relative)
        return write_pieces(uploads.store, [rows], rows.schema, folder, relative, partition_by)
    # Encoded in memory first: a few hundred bytes a column are not worth a call each.
    sink = pa.BufferOutputStream()
    footer, with_nan = _encode(sink, [rows], rows.schema, "snappy" if is_small else "zstd")
    content = sink.getvalue()
    uploads.put(folder / relative, content)
    return _written(relative, content.size, footer, with_nan, partition_by)


def write_partitions(
    store: Store, rows: pa.Table, folder: LakeUri, by: Sequence[str]
) -> Iterator[tuple[dict[str, str | None], dict[str, object]]]:
    """Write a file for each partition that rows have, with the columns `by` that split them.

    Yields:
        The values of its columns, as a log has them, and what `write_file` says. All are there
        when there are no more.
    """
    with Uploads(store) as uploads:
        yield from put_partitions(uploads, rows, folder, by)


def put_partitions(
    uploads: Uploads, rows: pa.Table, folder: LakeUri, by: Sequence[str]
) -> Iterator[tuple[dict[str, str | None], dict[str, object]]]:
    """Hand the files over to be written; as `write_partitions` else."""
    for values, part in split(without_untold(rows, by), by):
        yield values, put_file(uploads, part, folder, prefix=WHOLE, partition_by=by)


def write_pieces(
    store: Store,
    pieces: Iterable[pa.Table],
    schema: pa.Schema,
    folder: LakeUri,
    relative: str,
    partition_by: Collection[str] = (),
) -> dict[str, object]:
    """Write a file piece by piece, with one piece in memory at a time; as `write_file` else."""
    with store.open_for_writing(folder / relative) as stream:
        sink = pa.PythonFile(stream, mode="w")
        footer, with_nan = _encode(sink, pieces, schema, "zstd")
        size = sink.tell()
    return _written(relative, size, footer, with_nan, partition_by)


def _encode(
    sink: pa.NativeFile, pieces: Iterable[pa.Table], schema: pa.Schema, codec: str
) -> tuple[pq.FileMetaData, set[str]]:
    """Write Parquet; its footer, and the columns that have NaN."""
    footers: list[pq.FileMetaData] = []
    with_nan: set[str] = set()
    writer = pq.ParquetWriter(
        sink,
        schema,
        metadata_collector=footers,
        store_schema=False,
        compression=codec,
        compression_level=1 if codec == "zstd" else None,
        bloom_filter_options=bloom_options(schema),
        **encodings(schema),
    )
    try:
        for piece in pieces:
            writer.write_table(piece)
            with_nan |= _with_nan(piece)
    except BaseException:
        # Closing what failed fails in words of its own, and those of a full disk are waited for.
        with suppress(Exception):
            writer.close()
        raise
    writer.close()
    return footers[0], with_nan


def _written(
    relative: str,
    size: int,
    footer: pq.FileMetaData,
    with_nan: set[str],
    partition_by: Collection[str],
) -> dict[str, object]:
    return {
        "path": relative,
        "size": size,
        "rows": footer.num_rows,
        "stats": file_stats(footer, with_nan, without=partition_by),
    }


def _with_nan(rows: pa.Table) -> set[str]:
    floats = [field.name for field in rows.schema if pa.types.is_floating(field.type)]
    return {name for name in floats if pc.any(pc.is_nan(rows[name])).as_py()}
