"""Which formats files may have: the one place that maps a declared one to how files are read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lake_assets.sources.files.avro_blocks import measure_avro, read_avro
from lake_assets.sources.files.cutting import Rows
from lake_assets.sources.files.delimited import measure_delimited, read_delimited
from lake_assets.sources.files.index import Entry
from lake_assets.sources.files.measuring import Cut, Measured, measure_document, measure_lines
from lake_assets.sources.files.opening import BadFileError, Opener, is_forbidden
from lake_assets.sources.files.parquet_rows import measure_parquet, read_parquet
from lake_assets.sources.files.text_rows import read_document, read_lines

Measure: TypeAlias = Callable[[Cut, str, Opener, int], Measured]
ReadRows: TypeAlias = Callable[[Cut, Entry, int, int, Opener], Iterator[tuple[Rows, int]]]


@dataclass(frozen=True, slots=True)
class FileFormat:
    """How files of a format are counted, and cut into rows."""

    measure: Measure
    """Reads a file once, by its name, what opens it and the bytes it has, which are some.

    Raises `BadFileError` of a file of which no row can be read; else as `Opener`.
    """

    rows: ReadRows
    """Rows of a file as it was counted, from a line or before it to another or beyond it: some at
    a time, with the number of the line that comes next.

    Raises `BadFileError` where no row can be read from there on; else as `Opener`.
    """


FORMATS: Mapping[str, FileFormat] = {
    "jsonl": FileFormat(measure_lines, read_lines),
    "json": FileFormat(measure_document, read_document),
    "csv": FileFormat(measure_lines, read_lines),
    "avro": FileFormat(measure_avro, read_avro),
    "parquet": FileFormat(measure_parquet, read_parquet),
    "protobuf": FileFormat(measure_delimited, read_delimited),
    "framed": FileFormat(measure_delimited, read_delimited),
}
"""By `model.files_source.FilesSource.format`."""


def measure(cut: Cut, name: str, file: Opener, size: int) -> Measured:
    """Read a file once.

    Raises:
        FileNotFoundError: it is not there any more.
        OSError: the disk does not give it.
        SourceError: the bucket does not give it.
    """
    try:
        if not size:
            with file():  # whether it is there, and may be read
                return Measured(lines=0)
        return FORMATS[cut.source.format].measure(cut, name, file, size)
    except BadFileError as problem:
        return Measured(lines=1, problem=str(problem))
    except OSError as problem:
        if not is_forbidden(problem):
            raise
        return Measured(lines=1, problem=f"cannot be read ({problem.strerror})")
