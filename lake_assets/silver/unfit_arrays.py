"""Values without elements since something of them did not fit: refused, and not dropped as empty.

A format that rescues makes null of an array that has one element of another type; what it was is in
`_rescued`. Of Avro an array is null where the value is of another type, and that is beside it. An
array that was null by itself is none of these. Runs in Spark's workers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.avro.other_types import OTHER_TYPES
from lake_assets.formats.base import Decoded
from lake_assets.formats.json.parse import parse
from lake_assets.formats.json.values import Misfit, item_misfit
from lake_assets.formats.schema_merge import in_words
from lake_assets.model.misfits import RECORD
from lake_assets.model.quarantine import Reason
from lake_assets.silver.arrow_evaluator import values_of
from lake_assets.silver.explosion import Explosion, Rescued

_Fields: TypeAlias = Sequence[tuple[str, pa.DataType]]

_ODD_RECORD = "the record has more or fewer fields than there are columns"


def refused_unfit(explosion: Explosion, rows: pa.RecordBatch, decoded: Decoded) -> Decoded:
    """The answer with a reason for rows without elements of which something did not fit.

    Of decoded rows that is the array itself, or a struct that it is in. Behind a function it may be
    anything, since nobody knows what that makes the array of.

    Args:
        explosion: whose elements.
        rows: what it is made of.
        decoded: what became of them; what did not fit is in it as it came.
    """
    given = decoded.given
    arrays = values_of(explosion.array, rows)
    is_none = pc.is_null(arrays) if given is None else _are_empty(arrays)
    is_decoded = pc.and_(pc.is_null(decoded.reason), pc.is_null(decoded.question))
    without = pc.and_(is_decoded, is_none)
    if not pc.any(without, min_count=0).as_py():
        return decoded
    path = list(explosion.path(rows.schema))
    details = _of_rescued(explosion, path, decoded, without)
    if explosion.has_other_types:
        found = _beside_path(rows, path) if given is None else _beside_any(_columns(given))
        for name, is_there in found:
            for row in pc.indices_nonzero(pc.and_(without, is_there)).to_pylist():
                why = f"{name} is of a type that is in {name}{OTHER_TYPES}"
                details.setdefault(row, why)
    if given is not None:
        made = f"; the transform made no elements of {'.'.join(name for name, _ in path)}"
        details = {row: f"{why}{made}" for row, why in details.items()}
    return _with_details(decoded, details) if details else decoded


def _of_rescued(
    explosion: Explosion, path: _Fields, decoded: Decoded, without: pa.BooleanArray
) -> dict[int, str]:
    """By row without elements of which something was rescued, what that was, in words."""
    given = decoded.given
    source = decoded.columns if given is None else given
    rescued = [one for one in explosion.rescued if one.column in source.schema.names]
    has_some = pa.array(np.zeros(source.num_rows, np.bool_))
    for one in rescued:
        has_some = pc.or_(has_some, pc.is_valid(source[one.column]))
    details: dict[int, str] = {}
    for row in pc.indices_nonzero(pc.and_(without, has_some)).to_pylist():
        left = _left_over(source, rescued, row)
        why = _of_array(path, left) if given is None else _of_anything(given, row, left)
        if why is not None:
            details[row] = why
    return details


def _beside_path(rows: pa.RecordBatch, path: _Fields) -> Iterator[tuple[str, pa.BooleanArray]]:
    """Along the way to an array, what other types are beside it, and in which rows."""
    known, names = _columns(rows), list[str]()
    for name, kind in path:
        names.append(name)
        if name + OTHER_TYPES in known:
            yield ".".join(names), pc.is_valid(known[name + OTHER_TYPES])
        if pa.types.is_struct(kind):
            known = _fields(known[name])


def _beside_any(
    known: Mapping[str, pa.Array], within: str = ""
) -> Iterator[tuple[str, pa.BooleanArray]]:
    """Beside whichever columns and fields of structs other types are, and in which rows."""
    for name, array in known.items():
        if name + OTHER_TYPES in known:
            yield f"{within}{name}", pc.is_valid(known[name + OTHER_TYPES])
        if pa.types.is_struct(array.type):
            yield from _beside_any(_fields(array), f"{within}{name}.")


def _columns(rows: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(rows.schema.names, rows.columns, strict=True))


def _fields(array: pa.StructArray) -> dict[str, pa.Array]:
    """A struct's fields, each null where the struct is."""
    return {one.name: pc.struct_field(array, [place]) for place, one in enumerate(array.type)}


def _are_empty(arrays: pa.Array) -> pa.BooleanArray:
    return pc.equal(pc.list_value_length(arrays).fill_null(0), 0)


def _left_over(
    source: pa.RecordBatch, rescued: Sequence[Rescued], row: int
) -> list[tuple[str, dict[str, Any]]]:
    """What did not fit of a row, each with what begins the names of its columns."""
    texts = [(one.prefix, source[one.column][row].as_py()) for one in rescued]
    return [(prefix, parse(text.encode())) for prefix, text in texts if text is not None]


def _of_array(path: _Fields, left: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
    """Why an array did not fit, in words; None if it is null by itself."""
    (column, _), *_ = path
    for prefix, found in left:
        if column.startswith(prefix):
            named = {f"{prefix}{name}": value for name, value in found.items()}
            misfit = _along(path, named)
            if misfit is not None:
                return misfit
    return None


def _along(path: _Fields, found: Mapping[str, Any]) -> str | None:
    """What stopped the way to an array, in words; None if nothing of it is among what was left."""
    for depth, (name, kind) in enumerate(path):
        if name not in found:
            return None
        value = found[name]
        if depth < len(path) - 1 and isinstance(value, dict):
            found = value
            continue
        return _in_words(kind, value, tuple(known for known, _ in path[: depth + 1]))
    return None


def _of_anything(
    given: pa.RecordBatch, row: int, left: Sequence[tuple[str, Mapping[str, Any]]]
) -> str | None:
    """What a function was not given of a row that it made no elements of, in words."""
    for prefix, found in left:
        for name, value in found.items():
            column = f"{prefix}{name}"
            if column in given.schema.names:
                kind = given.schema.field(column).type
                why = next(_misfits(kind, given[column][row], value, (column,)), None)
            else:
                why = _ODD_RECORD if name == RECORD else None
            if why is not None:
                return why
    return None


def _misfits(
    kind: pa.DataType, made: pa.Scalar, value: object, path: tuple[str, ...]
) -> Iterator[str]:
    """What is null of a column, though a value had something there, in words."""
    if not made.is_valid:
        yield _in_words(kind, value, path)
    elif pa.types.is_struct(kind) and isinstance(value, dict):
        for field in kind:
            if field.name in value:
                inner = made[field.name], value[field.name]
                yield from _misfits(field.type, *inner, (*path, field.name))


def _in_words(kind: pa.DataType, value: object, path: tuple[str, ...]) -> str:
    if pa.types.is_list(kind) and isinstance(value, list):
        found = item_misfit(kind, value, path)
        if found is not None:
            number, misfit = found
            return f"element {number}: {misfit.words}"
    return Misfit(path, in_words(kind), value).words


def _with_details(decoded: Decoded, details: Mapping[int, str]) -> Decoded:
    detail = pa.array([details.get(row) for row in range(len(decoded.reason))], pa.string())
    word = pc.if_else(pc.is_valid(detail), Reason.TYPE_MISMATCH.value, _NO_TEXT)
    return replace(
        decoded,
        reason=pc.coalesce(decoded.reason, word),
        detail=pc.coalesce(decoded.detail, detail),
    )


_NO_TEXT = pa.scalar(None, pa.string())
