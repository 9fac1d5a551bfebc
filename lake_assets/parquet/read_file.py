"""Opening a Parquet file as whatever engine wrote it."""

import io
from contextlib import AbstractContextManager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import Readable, Store

_WHOLE_BYTES = 4 * 1024 * 1024
"""Of a file that is fetched in one piece: in parts it is four requests and more, each of which
costs as much as a megabyte."""


def reading(store: Store, file: LakeUri, size: int | None) -> AbstractContextManager[Readable]:
    """A file of so many bytes to read parts of, or of which nobody knows how many.

    Raises:
        FileNotFoundError: there is no such file; perhaps only when it is read.
    """
    if store.root.is_local or size is None or size > _WHOLE_BYTES:
        return store.open_for_reading(file)
    return io.BytesIO(store.get(file))


INT96_UNIT = "us"
"""What times of 96 bits are read as, which Spark writes unless it is told otherwise: what it has of
them is microseconds. As nanoseconds, Arrow's default, the years before 1678 and after 2262 come out
as others, without an error."""


def opened(source: str | BinaryIO | pa.NativeFile) -> pq.ParquetFile:
    """A file whose rows can be read in pieces; to be closed."""
    return pq.ParquetFile(source, coerce_int96_timestamp_unit=INT96_UNIT)


_READ_BYTES, _MOST_BYTES = 64 * 1024, 1024 * 1024
"""Of each column that are read at once, at least and at most: in a bucket each reading is a request
that costs as much as a megabyte."""

_HELD_BYTES = 64 * 1024 * 1024
"""Of all columns, as long as there are no more than a thousand."""


def opened_in_pieces(source: BinaryIO) -> pq.ParquetFile:
    """A file of which a page of each column is in memory, however large row groups are.

    To be closed. Pages that have a checksum are compared with it.

    Raises:
        pa.ArrowException: it is none.
        OSError: likewise, then without a number; or the disk does not give it.
    """
    footer = pq.read_metadata(source)
    source.seek(0)
    return pq.ParquetFile(
        source,
        metadata=footer,
        coerce_int96_timestamp_unit=INT96_UNIT,
        pre_buffer=False,
        buffer_size=read_bytes(footer.num_columns),
        page_checksum_verification=True,
    )


def read_bytes(columns: int) -> int:
    """Bytes of a column that are read at once: 1 MiB up to 64 columns, 64 KiB from 1,024 on."""
    return max(_READ_BYTES, min(_MOST_BYTES, _HELD_BYTES // max(1, columns)))
