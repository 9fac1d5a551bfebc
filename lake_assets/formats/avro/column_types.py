"""Whether a column holds the values of a later type in its place, and as what. Pure.

Avro's resolution knows no logical types: a `long` is read as a time, and a time as a `long`. The
column keeps what its first version made it: a number or bytes, or what they mean. No column has
numbers of two units.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import TypeAlias

from lake_assets.formats.avro.schema import Type

Meaning: TypeAlias = tuple[str, int]

_INTEGERS = frozenset({"int", "long"})
_REALS = frozenset({"float", "double"})
_TEXTS = frozenset({"string", "bytes", "fixed", "enum"})
_GROUPS = (_INTEGERS | _REALS, _TEXTS)


class Fit(Enum):
    """What becomes of a single type where others were before."""

    COLUMN = auto()
    """Its values go to the column."""

    BESIDE = auto()
    """They are as long in bytes, or numbers as well, and mean something else."""

    NONE = auto()
    """Avro has no way from one to the other."""


def fit(own: Sequence[Type], one: Type) -> Fit:
    """Whether a column holds a single type.

    Args:
        own: the types that the column has, oldest first.
        one: another.
    """
    first = own[0]
    if not any({first.kind, one.kind} <= group for group in _GROUPS):
        return Fit.COLUMN if first.kind == one.kind else Fit.NONE
    is_held = _holds_meaning(own, one) if one.logical else _holds_plain(own, one)
    return Fit.COLUMN if is_held else Fit.BESIDE


def as_column(own: Sequence[Type], one: Type) -> Type:
    """A type as its column has it: a time as the number that it is, or a number as the time."""
    first = own[0]
    if not first.logical:
        is_raw = one.logical and same_bytes(first, one)
        return replace(one, logical="", precision=0, scale=0) if is_raw else one
    if one.logical or not same_bytes(first, one):
        return one
    like = next(its for its in reversed(own) if its.logical)
    return replace(one, logical=like.logical, precision=like.precision, scale=like.scale)


def is_alike(one: Type, other: Type) -> bool:
    """Whether both are whole numbers, or fractions, or one logical type: they differ in size."""
    if one.logical or other.logical:
        return _meaning(one) == _meaning(other)
    pair = {one.kind, other.kind}
    return pair <= _INTEGERS or pair <= _REALS


def same_bytes(first: Type, one: Type) -> bool:
    """Whether values of both are the same bytes, or numbers of any size."""
    pair = {first.kind, one.kind}
    return pair <= _INTEGERS or (pair in ({"bytes"}, {"fixed"}) and first.size == one.size)


def _holds_plain(own: Sequence[Type], one: Type) -> bool:
    """Whether a column holds what has no logical type."""
    first = own[0]
    if not first.logical:
        return one.kind not in _REALS or not _units(own)
    if first.logical == "uuid" and one.kind != "fixed":
        return True  # texts both
    return same_bytes(first, one)


def _holds_meaning(own: Sequence[Type], one: Type) -> bool:
    first = own[0]
    if first.logical:
        return _meaning(first) == _meaning(one)
    if one.logical == "uuid" and one.kind == "string":
        return first.kind != "fixed"
    is_mixed = any(its.kind in _REALS for its in own)
    return same_bytes(first, one) and not is_mixed and _units(own) <= {_unit(one)}


def _units(own: Sequence[Type]) -> set[Meaning]:
    """What the numbers or the bytes of a column without a logical type are said to be."""
    return {_unit(one) for one in own if one.logical and one.kind != "string"}


def _unit(one: Type) -> Meaning:
    return one.logical, one.scale


def _meaning(one: Type) -> Meaning:
    """Times of any unit mean the same, since their columns have microseconds."""
    return one.logical.rpartition("-")[0] or one.logical, one.scale
