"""Many values at once by Arrow's JSON reader: all or nothing, and only what a row alone would give.

Arrow's reader takes lines, fails them all at the first that is bad, and is laxer than JSON in some
places. So here is said of which values its answer is the one that `formats.json.row_reader` would
give; of others there is none, and these are read one by one. Measured a core on 110-byte events of
five columns: about 700,000 rows/s with its checks.
"""

from collections.abc import Collection
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from lake_assets.formats.json.parse import DEEPEST
from lake_assets.formats.text_values import TIME

EXACT = 2**53
"""Below it each integer is a double of its own."""

_BLANKS = " \t\r\n"


def can_read(fields: pa.Schema) -> bool:
    """Whether Arrow's reader knows the columns' types, and means the same by them."""
    return all(_is_read(field.type, is_nested=False) for field in fields)


def read_values(
    values: pa.Array,
    fields: pa.Schema,
    *,
    ignores_unknown: bool,
    exact: Collection[str] = (),
) -> pa.RecordBatch | None:
    """The columns of many values, or None if one of them has to be looked at alone.

    Args:
        values: binary, none of them null.
        fields: as `can_read` takes them.
        ignores_unknown: whether names that are no field are left out; else there is no answer.
        exact: fields whose doubles hold no integer that they would round.
    """
    lines = _lines(values)
    if lines is None or (ignores_unknown and _is_doubtful(lines)):
        return None
    text = _buffer(lines)
    try:
        table = pj.read_json(
            pa.BufferReader(text),
            read_options=pj.ReadOptions(use_threads=False, block_size=text.size + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=raw_schema(fields),
                unexpected_field_behavior="ignore" if ignores_unknown else "error",
            ),
        )
        if table.num_rows != len(values):
            return None  # one of them holds several objects
        columns = stored(table, fields)
        return None if columns is None or _may_be_rounded(columns, exact) else columns
    except pa.ArrowInvalid:
        return None


def _is_read(kind: pa.DataType, *, is_nested: bool) -> bool:
    if pa.types.is_struct(kind):
        return all(_is_read(field.type, is_nested=True) for field in kind)
    if pa.types.is_list(kind):
        return _is_read(kind.value_type, is_nested=True)
    is_plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)
    is_made = pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_floating(kind)
    return is_plain or (is_made and not is_nested)


def raw_schema(fields: pa.Schema) -> pa.Schema:
    """As what the fields are read; `stored` makes them of it."""
    return pa.schema([pa.field(field.name, _raw(field.type)) for field in fields])


def _raw(kind: pa.DataType) -> pa.DataType:
    """The type that Arrow's reader is asked for, where its own way to the column's differs."""
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return pa.string()
    return pa.float64() if pa.types.is_floating(kind) else kind


def _lines(values: pa.Array) -> pa.StringArray | None:
    """The values, a line each, if each begins and ends as an object does.

    Then each holds one object at least: a bracket that is open at its end would need a comma or
    another bracket next, and next is the beginning of an object; nor does a string go over a line.
    """
    try:
        texts = values.cast(pa.string())  # fails where it is not UTF-8
    except pa.ArrowInvalid:
        return None
    if not _are_objects(texts):
        texts = pc.utf8_trim(texts, _BLANKS)
        if not _are_objects(texts):
            return None
    return pc.binary_join_element_wise(texts, "", "\n")


def _are_objects(texts: pa.StringArray) -> bool:
    is_object = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    return _all(is_object)


def _buffer(lines: pa.StringArray) -> pa.Buffer:
    """All lines, one behind the other."""
    ends = pa.Array.from_buffers(
        pa.int32(), len(lines) + 1, [None, lines.buffers()[1]], offset=lines.offset
    )
    begin, end = ends[0].as_py(), ends[-1].as_py()
    return lines.buffers()[2].slice(begin, end - begin)


def _is_doubtful(lines: pa.StringArray) -> bool:
    """Whether what is ignored may be what JSON does not take: `NaN`, or too many levels."""
    text = _buffer(lines).to_pybytes()
    if b"NaN" in text or b"Inf" in text:
        return True
    if pc.max(pc.binary_length(lines)).as_py() <= 2 * DEEPEST:
        return False
    brackets = pc.add(pc.count_substring(lines, "["), pc.count_substring(lines, "{"))
    return bool(pc.max(brackets).as_py() > DEEPEST)


def stored(found: pa.Table, fields: pa.Schema) -> pa.RecordBatch | None:
    """What was read as `raw_schema`, in the columns' types; None if a value is not one of them.

    Raises:
        pa.ArrowInvalid: likewise.
    """
    arrays = []
    for field in fields:
        array = _combined(found[field.name])
        if pa.types.is_floating(field.type):
            array = array.cast(field.type, safe=False)
            if not _all(pc.is_finite(array)):
                return None
        elif pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            array = _times(array, field.type)
            if not _is_storable(array):
                return None
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=fields)


def _is_storable(times: pa.Array) -> bool:
    """Whether all times are of the years 1 to 9999; Arrow has others, too: by their zones."""
    if pa.types.is_date(times.type):
        first, last = date.min, date.max
    else:
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    is_after = pc.greater_equal(times, pa.scalar(first, times.type))
    is_before = pc.less_equal(times, pa.scalar(last, times.type))
    return _all(pc.and_(is_after, is_before))


def _all(answers: pa.BooleanArray) -> bool:
    """Whether none of the answers is no; without any, or with nothing but nulls, none is."""
    return bool(pc.all(answers, min_count=0).as_py())


def _may_be_rounded(columns: pa.RecordBatch, names: Collection[str]) -> bool:
    """Whether doubles among these columns are so large that integers may have been rounded."""
    doubles = (columns[name] for name in names if pa.types.is_floating(columns[name].type))
    return not all(_all(pc.less(pc.abs(array), float(EXACT))) for array in doubles)


def _combined(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else combined.chunk(0)


def _times(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Times of ISO 8601 text; those without a zone are UTC.

    Raises:
        pa.ArrowInvalid: one is none, or of a form that not all are of.
    """
    if pa.types.is_date(kind):
        return texts.cast(kind)
    if not _all(pc.match_substring_regex(texts, f"^(?:{TIME})$")):
        raise pa.ArrowInvalid("Arrow has more forms of times than are read")
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return texts.cast(pa.timestamp("us")).cast(kind)
