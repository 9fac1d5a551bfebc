"""Values of types without others in them: from many places in the bytes to one Arrow array.

What bad bytes get is null or zero; that their row is refused is noted at the cursor.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.avro.cursor import Cursor, Flags, Longs
from lake_assets.formats.avro.schema import Type

_PER_MICROSECOND: Mapping[str, tuple[int, int]] = {
    "millis": (1_000, 1),
    "micros": (1, 1),
    "nanos": (1, 1_000),
}
"""By the end of a logical type's name: what makes microseconds of it, by times and divided by."""

# Years 1 to 9999; most readers of a Delta table fail on what is beyond.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_DAY = 86_400_000_000

_DECIMAL_BYTES = 16

_HEX = np.frombuffer(b"".join(f"{octet:02x}".encode() for octet in range(256)), "S2")
_UUID_PARTS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))


def leaf(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    """Read one value of each.

    Args:
        kind: what the writer wrote.
        to: what it becomes; None passes over it.
        cursor: where the values are; goes on behind them.
        place: the field, for what is wrong.
    """
    made = _LEAVES[kind.kind](kind, to, cursor, place)
    if to is None or made is None or made.type == to:
        return made
    # As the specification promotes `long` to `double`: the nearest number.
    return made.cast(options=pc.CastOptions(to, allow_float_truncate=True))


def _null(_: Type, to: pa.DataType | None, cursor: Cursor, __: str) -> pa.Array | None:
    return None if to is None else pa.nulls(len(cursor), to)


def _boolean(_: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    start, bad = cursor.skip(np.ones(len(cursor), np.int64), place)
    octets = cursor.window(start, 1)[:, 0]
    cursor.refuse((octets > 1) & ~bad, "a boolean is neither 0 nor 1", place)
    return None if to is None else pa.array(octets == 1)


def _integer(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    numbers = cursor.varint(place, bits=32 if kind.kind == "int" else 64)
    if to is None:
        return None
    if kind.logical == "date":
        beyond = (numbers < _FIRST_DAY) | (numbers > _LAST_DAY)
        cursor.refuse(beyond, "a date is not between the years 1 and 9999", place)
        return pa.array(np.where(beyond, 0, numbers).astype(np.int32)).cast(pa.date32())
    if kind.logical:
        times, over = _PER_MICROSECOND[kind.logical.rpartition("-")[2]]
        beyond = np.zeros(len(numbers), np.bool_)
        if "timestamp" in kind.logical:
            low, high = _FIRST_DAY * _DAY * over // times, (_LAST_DAY + 1) * _DAY * over // times
            if over == 1:
                beyond = (numbers < low) | (numbers >= high)
        elif times > 1:
            beyond = np.abs(numbers) > np.iinfo(np.int64).max // times
        if beyond.any():
            cursor.refuse(beyond, "a time is not between the years 1 and 9999", place)
            numbers = np.where(beyond, 0, numbers)
        numbers = numbers * times if over == 1 else np.floor_divide(numbers, over)
        made = pa.array(numbers)
        return made.cast(to) if pa.types.is_timestamp(to) else made
    return pa.array(numbers.astype(np.int32) if kind.kind == "int" else numbers)


def _real(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    width, numpy_type = (4, "<f4") if kind.kind == "float" else (8, "<f8")
    start, _ = cursor.skip(np.full(len(cursor), width, np.int64), place)
    if to is None:
        return None
    return pa.array(cursor.window(start, width).view(numpy_type)[:, 0])


def _bytes(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    lengths = cursor.varint(place)
    start, bad = cursor.skip(lengths, place)
    if to is None:
        return None
    if kind.logical == "decimal":
        return _decimal(kind, cursor, start, bad, place)
    return _gathered(cursor, start)


def _fixed(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    start, bad = cursor.skip(np.full(len(cursor), kind.size, np.int64), place)
    if to is None:
        return None
    if kind.logical == "decimal":
        return _decimal(kind, cursor, start, bad, place)
    if kind.logical == "uuid":
        return _uuid(cursor, start)
    if kind.logical == "duration":
        parts = cursor.window(start, 12).view("<u4").astype(np.int64)
        columns = [pa.array(np.ascontiguousarray(parts[:, index])) for index in range(3)]
        return pa.StructArray.from_arrays(columns, fields=list(to))
    return _gathered(cursor, start)


def _string(_: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    lengths = cursor.varint(place)
    start, _bad = cursor.skip(lengths, place)
    if to is None:
        return None
    found = _gathered(cursor, start)
    try:
        return found.cast(pa.string())
    except pa.ArrowInvalid:
        good = np.fromiter(map(_is_text, found.to_pylist()), np.bool_, len(found))
        cursor.refuse(~good, "a text is not UTF-8", place)
        return pc.if_else(pa.array(good), found, pa.scalar(b"", pa.binary())).cast(pa.string())


def _enum(kind: Type, to: pa.DataType | None, cursor: Cursor, place: str) -> pa.Array | None:
    index = cursor.varint(place, bits=32)
    bad = (index < 0) | (index >= len(kind.symbols))
    if bad.any():
        cursor.refuse(bad, f"an enum of {len(kind.symbols)} symbols has no such one", place)
        index = np.where(bad, 0, index)
    if to is None:
        return None
    return pa.array(kind.symbols or [""], pa.string()).take(pa.array(index))


_LEAVES: Mapping[str, Callable[[Type, pa.DataType | None, Cursor, str], pa.Array | None]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _integer,
    "long": _integer,
    "float": _real,
    "double": _real,
    "bytes": _bytes,
    "string": _string,
    "fixed": _fixed,
    "enum": _enum,
}


def _gathered(cursor: Cursor, start: Longs) -> pa.Array:
    """The bytes from each start to where its cursor stands, as binary.

    The data between two values is a value as well, which is left out: Arrow then copies what is
    left, and nothing is looped over here. Values stand in the order of their bytes.
    """
    bounds = np.empty(2 * len(start), np.int64)
    bounds[::2], bounds[1::2] = start, cursor.at
    if not len(start):
        return pa.nulls(0, pa.binary())
    offsets = pa.py_buffer(bounds.astype(np.int32))
    both = pa.Array.from_buffers(
        pa.binary(), len(bounds) - 1, [None, offsets, cursor.source.buffer]
    )
    return both.take(pa.array(np.arange(0, len(bounds) - 1, 2)))


def _decimal(kind: Type, cursor: Cursor, start: Longs, bad: Flags, place: str) -> pa.Array:
    """Numbers of big-endian bytes in two's complement, of whatever length."""
    lengths = cursor.at - start
    none = (lengths == 0) & ~bad
    cursor.refuse(none, "a decimal has no bytes", place)
    column = pa.decimal128(kind.precision, kind.scale)
    back = np.arange(_DECIMAL_BYTES)
    places = np.clip(start[:, None] + lengths[:, None] - 1 - back, 0, len(cursor.source.data) - 1)
    octets = cursor.source.data[places]
    sign = np.where(cursor.window(start, 1)[:, 0] >= 0x80, 0xFF, 0).astype(np.uint8)  # noqa: PLR2004
    octets = np.where(back < lengths[:, None], octets, sign[:, None])
    octets[none | bad] = 0
    long = np.flatnonzero(lengths > _DECIMAL_BYTES)
    beyond = np.zeros(len(cursor), np.bool_)
    for row in long.tolist():  # rare: writers write no more bytes than the number needs
        whole = bytes(cursor.source.data[start[row] : cursor.at[row]])
        number = int.from_bytes(whole, "big", signed=True)
        beyond[row] = abs(number) >= 10**kind.precision
        octets[row] = 0
        if not beyond[row]:
            octets[row] = np.frombuffer(number.to_bytes(16, "little", signed=True), np.uint8)
    beyond |= _beyond(octets, 10**kind.precision)
    if beyond.any():
        cursor.refuse(beyond, f"a decimal has more than {kind.precision} digits", place)
        octets[beyond] = 0
    data = pa.py_buffer(np.ascontiguousarray(octets))
    return pa.Array.from_buffers(column, len(cursor), [None, data])


def _beyond(octets: npt.NDArray[np.uint8], limit: int) -> Flags:
    """Whether the size of little-endian numbers of 16 bytes reaches a limit."""
    halves = np.ascontiguousarray(octets).view(np.uint64)
    low, high = halves[:, 0], halves[:, 1]
    negative = high >= np.uint64(1 << 63)
    low = np.where(negative, ~low + np.uint64(1), low)
    high = np.where(negative, ~high + (low == 0).astype(np.uint64), high)
    most_high, most_low = np.uint64(limit >> 64), np.uint64(limit & (1 << 64) - 1)
    return np.asarray((high > most_high) | ((high == most_high) & (low >= most_low)))


def _uuid(cursor: Cursor, start: Longs) -> pa.Array:
    """As texts: `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`."""
    digits = _HEX[cursor.window(start, 16)].view("S1")
    texts = np.full((len(start), 36), b"-", "S1")
    for number, (first, last) in enumerate(_UUID_PARTS):
        texts[:, first + number : last + number] = digits[:, first:last]
    offsets = pa.py_buffer(np.arange(0, 36 * len(start) + 1, 36, dtype=np.int32))
    data = pa.py_buffer(np.ascontiguousarray(texts))
    return pa.Array.from_buffers(pa.string(), len(start), [None, offsets, data])


def _is_text(found: bytes) -> bool:
    try:
        found.decode()
    except UnicodeDecodeError:
        return False
    return True
