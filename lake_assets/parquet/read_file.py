"""Opening a Parquet file as whatever engine wrote it."""

from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

INT96_UNIT = "us"
"""What times of 96 bits are read as, which Spark writes unless it is told otherwise: what it has of
them is microseconds. As nanoseconds, Arrow's default, the years before 1678 and after 2262 come out
as others, without an error."""


def opened(source: str | BinaryIO | pa.NativeFile) -> pq.ParquetFile:
    """A file whose rows can be read in pieces; to be closed."""
    return pq.ParquetFile(source, coerce_int96_timestamp_unit=INT96_UNIT)


_READ_BYTES = 64 * 1024
"""Of each column that are read at once: a file of a thousand columns takes 64 MiB."""


def opened_in_pieces(source: BinaryIO) -> pq.ParquetFile:
    """A file of which a page of each column is in memory, however large row groups are.

    To be closed. Pages that have a checksum are compared with it.

    Raises:
        pa.ArrowException: it is none.
        OSError: likewise, then without a number; or the disk does not give it.
    """
    return pq.ParquetFile(
        source,
        coerce_int96_timestamp_unit=INT96_UNIT,
        pre_buffer=False,
        buffer_size=_READ_BYTES,
        page_checksum_verification=True,
    )
