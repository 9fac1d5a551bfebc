"""Delta's per-file statistics, from the footer that Parquet writes anyway.

What a reader skips files by: row count, and min, max and null count of the leading columns.
"""

import json
import math
from collections.abc import Collection
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq

INDEXED_COLUMNS = 32
"""Delta's own default of `delta.dataSkippingNumIndexedCols`; more only makes the log longer."""

_MAX_TEXT = 64
"""Characters of a string bound. A longer minimum is cut, since its beginning is a lower bound too;
a longer maximum is cut and gets the last character there is, which makes it an upper bound."""

_LAST_CHARACTER = "\U0010ffff"

_ANY_TEXT = ("", _LAST_CHARACTER * _MAX_TEXT)
"""Bounds of texts that Parquet has none for, since they are too long (above 4 kB)."""

_ANY_NUMBER = ("-Infinity", "Infinity")
"""Bounds where all numbers are NaN."""


def file_stats(
    footer: pq.FileMetaData, with_nan: Collection[str] = (), *, without: Collection[str] = ()
) -> str:
    """The `stats` JSON of an `add` action, as the Delta protocol's section on statistics has it.

    Only top-level columns of primitive types get bounds, and all that have a value get both:
    deltalake's PyArrow dataset takes a missing bound for one that no row meets, and loses the
    file's rows. Timestamps are ISO 8601 in UTC.

    Args:
        footer: of the file.
        with_nan: columns with a NaN somewhere, which a footer does not tell.
        without: columns that a log has no statistics of.
    """
    minima: dict[str, object] = {}
    maxima: dict[str, object] = {}
    nulls: dict[str, int] = {}
    for index in range(footer.num_columns):
        path = footer.schema.column(index).path
        if "." in path or path in without or len(nulls) >= INDEXED_COLUMNS:
            continue
        chunks = [footer.row_group(g).column(index) for g in range(footer.num_row_groups)]
        statistics = [chunk.statistics for chunk in chunks if chunk.is_stats_set]
        if len(statistics) < len(chunks) or not all(s.has_null_count for s in statistics):
            continue
        nulls[path] = sum(s.null_count for s in statistics)
        bounds = _bounds([s for s in statistics if s.num_values], has_nan=path in with_nan)
        if bounds is not None:
            minima[path], maxima[path] = bounds
    return json.dumps(
        {
            "numRecords": footer.num_rows,
            "minValues": minima,
            "maxValues": maxima,
            "nullCount": nulls,
        },
        ensure_ascii=False,  # as `delta.table_log`
    )


def _bounds(chunks: list[pq.Statistics], *, has_nan: bool) -> tuple[object, object] | None:
    """Both bounds as JSON has them, never rounded inwards; None for bytes and for no values."""
    if not chunks:
        return None
    if not all(chunk.has_min_max for chunk in chunks):
        return _widest(chunks[0])
    least = min(_bound(chunk, "min") for chunk in chunks)
    greatest = max(_bound(chunk, "max") for chunk in chunks)
    if isinstance(least, float):
        # Spark and DuckDB sort NaN above all numbers. What is *equal* to it they do skip: NaN as
        # a bound itself would make PyArrow skip the other rows.
        return _as_float(least), "Infinity" if has_nan else _as_float(greatest)
    if isinstance(least, str):
        return least[:_MAX_TEXT], _upper_text(greatest)
    lower = _as_json(least)
    return None if lower is None else (lower, _as_json(greatest))


def _bound(chunk: pq.Statistics, which: str) -> Any:  # noqa: ANN401 - of the column's type
    """A chunk's least or greatest value; of times that Python does not have, its own end of time.

    A log has no text for it that all engines read: a producer's timestamp in microseconds, taken
    for milliseconds, is in the year 55,000. No query tells of such a time either: nobody skips the
    file who looks for one that can be told.
    """
    try:
        return getattr(chunk, which)
    except OverflowError:
        is_early = getattr(chunk, f"{which}_raw") < 0
        if chunk.logical_type.type == "DATE":
            return date.min if is_early else date.max
        is_utc = json.loads(chunk.logical_type.to_json())["isAdjustedToUTC"]
        zone = UTC if is_utc else None
        return datetime.min.replace(tzinfo=zone) if is_early else datetime.max.replace(tzinfo=zone)


def _widest(chunk: pq.Statistics) -> tuple[object, object] | None:
    is_number = chunk.physical_type in {"FLOAT", "DOUBLE"}
    is_text = chunk.logical_type.type == "STRING"
    return _ANY_NUMBER if is_number else _ANY_TEXT if is_text else None


def _upper_text(greatest: str) -> str:
    if len(greatest) <= _MAX_TEXT:
        return greatest
    if greatest[_MAX_TEXT:].startswith(_LAST_CHARACTER):
        return _ANY_TEXT[1]
    return greatest[:_MAX_TEXT] + _LAST_CHARACTER


def _as_float(value: float) -> float | str:
    """JSON has no infinity; Spark writes it as a string, and the readers know."""
    if math.isfinite(value):
        return value
    return "Infinity" if value > 0 else "-Infinity"


def _as_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        is_whole = value == value.to_integral_value()
        # A string of digits is read as well, and JSON's numbers are rounded on their way.
        return int(value) if is_whole else f"{value:f}"
    return value if isinstance(value, int) else None
