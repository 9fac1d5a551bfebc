"""Decode an array of which some messages are bad: the good ones, and a complaint for each other.

Messages that `ptars` reads otherwise than protobuf does are decoded as `normal` writes them again.

`ptars` fails a whole array at its first bad message and does not say which. So pieces of it are
tried, for bad ones often stand together. Where a piece fails, google.protobuf says first which of
its messages it would refuse; these are tried one by one, and the others together. What is bad all
the same is found by halving: log2(rows between two bad ones) calls of 6 µs and more.
Measured a core on 35-byte events: none bad, 7,000,000 rows/s; 1 % bad,
1,000,000; half of them bad, 300,000; all bad, 200,000.
Rows that headers alone refuse (not framed, unknown id) never come here and cost next to nothing.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.protobuf.decoders import is_panic
from lake_assets.formats.protobuf.normalize import Normal

_PANICS = (("slice index", "a length runs over"),)
"""What `ptars` 0.0.25 panics with, by a piece of its words, and what that means."""

_PIECE = 512
"""Messages that are looked at one by one, since there is a bad one among them. Fewer would make
another try each, at 6 µs and more."""

_PREFIX = "failed to decode Protobuf message: "

# What google/protobuf/timestamp.proto and duration.proto allow, in microseconds. `ptars` clamps
# what is beyond, and most readers of a Delta table fail on it.
_TIMESTAMPS = (-62_135_596_800_000_000, 253_402_300_799_999_999)
_DURATIONS = (-315_576_000_000_000_000, 315_576_000_000_000_000)


@dataclass(frozen=True, slots=True)
class Isolated:
    """What became of an array of messages."""

    decoded: pa.RecordBatch
    """The good ones in their order, without gaps, with `ptars`' types."""

    refused: dict[int, str]
    """Position of each bad one to what is wrong with it."""


def isolate(
    handler: Any,  # noqa: ANN401 - ptars has no types
    values: pa.Array,
    normal: Normal | None = None,
) -> Isolated:
    """Decode framed messages; bad ones cost nothing but themselves, whatever bytes they are.

    Args:
        handler: decodes, and alone has the say in what is bad.
        values: binary, without nulls.
        normal: finds what `handler` reads otherwise than protobuf does, and rewrites it. What it
            refuses to write is tried alone; if that was wrong, it costs time only.
    """
    isolated, values = _isolate(handler, values, normal)
    return _mended(handler, values, isolated, normal) if normal is not None else isolated


def _isolate(
    handler: Any,  # noqa: ANN401
    values: pa.Array,
    normal: Normal | None,
) -> tuple[Isolated, pa.Array]:
    """What became of the messages, and as what they were decoded."""
    timed = [index for index, kind in enumerate(handler.schema().types) if _has_times(kind)]
    search = _Search(handler, values, timed)
    answer = search.attempt(0, len(values))
    if not isinstance(answer, str):
        return Isolated(answer, {}), values
    is_rewritten = normal is not None and normal.checks.has_message_maps
    if normal is not None and not is_rewritten and len(values) > _PIECE:
        return _by_pieces(handler, values, normal), values
    if normal is not None and (len(values) > 1 or is_rewritten):
        written = [normal.rewrite(value) for value in values.to_pylist()]
        suspects = np.fromiter((message is None for message in written), np.bool_, len(written))
        if is_rewritten:
            values = pc.coalesce(pa.array(written, values.type), values)
            search.values = values
        if suspects.any() or is_rewritten:
            return _join(search, suspects), values
    search.split(0, len(values), answer)
    nothing = handler.array_to_record_batch(values.slice(0, 0))
    pieces = search.pieces or [nothing]
    whole = pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)
    return Isolated(whole, search.refused), values


def _mended(
    handler: Any,  # noqa: ANN401
    values: pa.Array,
    found: Isolated,
    normal: Normal,
) -> Isolated:
    """The same where rows that `handler` did not read as protobuf does are read from again."""
    differing = normal.differing(found.decoded)
    if not len(differing):
        return found
    good = np.delete(np.arange(len(values)), list(found.refused))
    written = [
        normal.rewrite(value) for value in values.take(pa.array(good[differing])).to_pylist()
    ]
    again = isolate(handler, pa.array(written, values.type).drop_null())
    order = np.arange(found.decoded.num_rows)
    rewritten = differing[[message is not None for message in written]]
    lost = rewritten[list(again.refused)]
    kept = np.delete(rewritten, list(again.refused))
    order[kept] = np.arange(len(order), len(order) + len(kept))
    whole = pa.concat_batches([found.decoded, again.decoded])
    refused = {int(good[rewritten[row]]): problem for row, problem in again.refused.items()}
    return Isolated(whole.take(pa.array(np.delete(order, lost))), found.refused | refused)


def _by_pieces(
    handler: Any,  # noqa: ANN401
    values: pa.Array,
    normal: Normal,
) -> Isolated:
    """The same piece by piece, so that bad messages cost those nothing that are far from them."""
    refused: dict[int, str] = {}
    pieces = []
    for start in range(0, len(values), _PIECE):
        piece, _ = _isolate(handler, values.slice(start, _PIECE), normal)
        pieces.append(piece.decoded)
        refused |= {start + index: problem for index, problem in piece.refused.items()}
    return Isolated(pa.concat_batches(pieces), refused)


def _join(search: "_Search", suspects: npt.NDArray[np.bool_]) -> Isolated:
    """Decode suspects one by one and the others together; in the order that they have."""
    innocent = np.flatnonzero(~suspects)
    isolated = isolate(search.handler, search.values.take(pa.array(innocent)))
    refused = {int(innocent[index]): problem for index, problem in isolated.refused.items()}
    rows, pieces = [np.delete(innocent, list(isolated.refused))], [isolated.decoded]
    for row in np.flatnonzero(suspects):
        answer = search.attempt(int(row), int(row) + 1)
        if isinstance(answer, str):
            refused[int(row)] = answer
        else:
            rows.append(np.array([row]))
            pieces.append(answer)
    if len(pieces) == 1:
        return Isolated(isolated.decoded, refused)
    order = pa.array(np.argsort(np.concatenate(rows)))
    return Isolated(pa.concat_batches(pieces).take(order), refused)


@dataclass(slots=True)
class _Search:
    handler: Any
    values: pa.Array
    timed: list[int]
    """Columns with a time somewhere in them."""

    pieces: list[pa.RecordBatch] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)

    def split(self, start: int, stop: int, complaint: str) -> None:
        """Search a range whose first bad message raised `complaint`; log2(rows) levels deep."""
        if stop - start == 1:
            self.refused[start] = complaint
            return
        middle = (start + stop) // 2
        left = self.attempt(start, middle)
        if isinstance(left, str):
            self.split(start, middle, left)
            right = self.attempt(middle, stop)
        else:
            self.pieces.append(left)
            # The complaint was not about the left half, so it is about the right one.
            right = complaint
        if isinstance(right, str):
            self.split(middle, stop, right)
        else:
            self.pieces.append(right)

    def attempt(self, start: int, stop: int) -> pa.RecordBatch | str:
        """Decode a range, or say what is wrong with its first bad message."""
        part = self.values.slice(start, stop - start)
        try:
            batch = self.handler.array_to_record_batch(part)
        except ValueError as problem:
            return str(problem).removeprefix(_PREFIX)
        except BaseException as problem:
            if not is_panic(problem):
                raise
            meanings = (meaning for words, meaning in _PANICS if words in str(problem))
            return next(meanings, f"the decoder gives up on it ({str(problem)[:200]})")
        problems = (_beyond(batch, index) for index in self.timed)
        return next((problem for problem in problems if problem is not None), batch)


def _has_times(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_times(kind.field(index).type) for index in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind) or pa.types.is_duration(kind))


def _beyond(batch: pa.RecordBatch, index: int) -> str | None:
    """What is wrong with a column's times if one is out of range, at any depth."""
    problem = _beyond_in(batch.column(index))
    return None if problem is None else f"{batch.schema.names[index]}: {problem}"


def _beyond_in(array: pa.Array) -> str | None:
    kind = array.type
    if pa.types.is_timestamp(kind):
        return _check(array, _TIMESTAMPS, "not between the years 1 and 9999")
    if pa.types.is_duration(kind):
        return _check(array, _DURATIONS, "longer than 10,000 years")
    problems = (_beyond_in(part) for part in _parts(array))
    return next((problem for problem in problems if problem is not None), None)


def _parts(array: pa.Array) -> list[pa.Array]:
    kind = array.type
    if pa.types.is_struct(kind):
        return [array.field(index) for index in range(kind.num_fields)]
    if pa.types.is_list(kind):
        return [array.values]
    return [array.items] if pa.types.is_map(kind) else []


def _check(array: pa.Array, limits: tuple[int, int], problem: str) -> str | None:
    bounds = pc.min_max(array.view(pa.int64()))
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    is_fine = least is None or (limits[0] <= least and most <= limits[1])
    return None if is_fine else problem
