"""Which types are the same in several versions, and which of them stand in a column. Pure.

A place that had one type when it came is a column of it; one that had several is a struct of
members. Types that a column does not hold are members, too: of a struct beside it.

Named types are matched as Avro's specification has it, by their names without a namespace, so that
a namespace may move. Full names decide where a union has two types of one simple name, and aliases
count where no name is the same. No two types of one union are ever the same, so none takes the
other's values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

from lake_assets.formats.avro.column_types import (
    Fit,
    as_column,
    fit,
    is_alike,
    same_bytes,
)
from lake_assets.formats.avro.schema import OWN, Type

Place: TypeAlias = tuple[str, ...]


def counterparts(own: Sequence[Type], others: Sequence[Type]) -> dict[int, Type]:
    """By index in `own`, the types of another version that are the same for renames and defaults.

    A type that is the only one of its kind there is the same under whatever name.
    """
    pairs = _matched(own, others, _kind)
    taken = {*pairs.values()}
    for index, one in enumerate(own):
        same = [place for place, other in enumerate(others) if other.kind == one.kind]
        if index not in pairs and len(same) == 1 and same[0] not in taken:
            pairs[index] = same[0]
            taken.add(same[0])
    return {index: others[place] for index, place in pairs.items()}


def branches_of(kind: Type) -> tuple[Type, ...]:
    """The types that a value may have."""
    return kind.inner if kind.kind == "union" else (kind,)


def placed(kind: Type) -> list[tuple[str, Type]]:
    """The types that a value may have, each with where it goes: a member, `OWN`, or nowhere."""
    inner = branches_of(kind)
    names = kind.members or ["" if one.kind == "null" else OWN for one in inner]
    return list(zip(names, inner, strict=True))


@dataclass(slots=True)
class _Known:
    """The types in one place, each as the last version had it that did."""

    is_struct: bool
    """Whether the first version had several: all are members. Else the place is a column."""

    own: list[Type] = field(default_factory=list)
    """Those of the column, in the order in which versions brought them."""

    members: list[Type] = field(default_factory=list)
    """Those that are members, of a struct that is the column or stands beside it, likewise."""


@dataclass(slots=True)
class Members:
    """Where the types of each place go, in the order in which versions brought them."""

    found: dict[Place, _Known] = field(default_factory=dict)

    def applied(self, kind: Type, place: Place) -> Type:
        """With the members' names; to be called with the oldest version first.

        A version's members depend on older ones alone: what comes later changes none of them. A
        place that had one type is a column of it for good, and what does not fit stands beside.
        """
        names, types = self._names(kind, place), []
        for name, one in zip(names, branches_of(kind), strict=True):
            is_own = name in {OWN, ""}
            read = as_column(self.found[place].own or [one], one) if name == OWN else one
            types.append(self._within(read, place if is_own else (*place, name)))
        members = () if {*names} <= {OWN, ""} else tuple(names)
        is_beside = bool(members) and not self.found[place].is_struct
        if kind.kind == "union":
            return replace(kind, inner=tuple(types), members=members, beside=is_beside)
        return replace(types[0], members=members, beside=is_beside)

    def _within(self, kind: Type, place: Place) -> Type:
        fields = tuple(
            replace(one, type=self.applied(one.type, (*place, one.column))) for one in kind.fields
        )
        inner = tuple(self.applied(one, (*place, "[]")) for one in kind.inner)
        return replace(kind, fields=fields, inner=inner)

    def _names(self, kind: Type, place: Place) -> list[str]:
        inner = branches_of(kind)
        types = {at: one for at, one in enumerate(inner) if one.kind != "null"}
        if not types:
            return [""] * len(inner)
        known = self.found.setdefault(place, _Known(is_struct(kind)))
        own: dict[int, int | None] = {}
        if not known.is_struct:
            own = _own(types, known, is_single=not is_struct(kind))
        theirs = _matched(inner, known.members, _sort)
        names = [""] * len(inner)
        for at, one in types.items():
            if at in own:
                _note(known.own, own[at], one)
                names[at] = OWN
            elif not known.is_struct and not is_struct(kind) and _is_refused(known, one, theirs):
                names[at] = OWN
            else:
                number = _note(known.members, theirs.get(at), one)
                names[at] = f"member{number if known.is_struct else number + 1}"
        return names


def _own(types: Mapping[int, Type], known: _Known, *, is_single: bool) -> dict[int, int | None]:
    """Which types of a version a column holds; each with its place among those known, or None.

    Of a union of several it is one, save numbers that differ in size alone: so all can be told
    apart.
    """
    if not known.own:
        return dict.fromkeys(types)
    indices, several = list(types), list(types.values())
    found: dict[int, int | None] = {
        indices[at]: to for at, to in _matched(several, known.own, _sort).items()
    }
    theirs = {indices[at] for at in _matched(several, known.members, _sort)}
    likes = {at: to for at, to in found.items() if to is not None}
    left = {
        at: one
        for at, one in types.items()
        if at not in found and at not in theirs and fit(known.own, one) is Fit.COLUMN
    }
    for at, one in left.items():
        like = next((to for to, its in enumerate(known.own) if is_alike(its, one)), None)
        if is_single or like is not None:
            found[at] = None
            likes[at] = len(known.own) if like is None else like
    if is_single:
        return found
    if not found:
        # Such as a time, where its number was.
        said = (at for at, one in left.items() if not one.name and same_bytes(known.own[0], one))
        return dict.fromkeys(islice(said, 1))
    kept = types[max(likes, key=lambda at: likes[at])]
    return {at: to for at, to in found.items() if types[at] is kept or is_alike(types[at], kept)}


def _is_refused(known: _Known, one: Type, theirs: Mapping[int, int]) -> bool:
    """Whether a single type is what Avro has no way to: it remains a mismatch of the column."""
    return not theirs and fit(known.own, one) is Fit.NONE


def _note(there: list[Type], at: int | None, one: Type) -> int:
    """Where a type is in a list from now on."""
    number = len(there) if at is None else at
    there[number : number + 1] = [one]
    return number


def is_struct(kind: Type) -> bool:
    """Whether a union becomes a struct: of one type it is that type, of two numbers the wider."""
    kinds = {one.kind for one in kind.branches}
    is_number = kinds in ({"int", "long"}, {"float", "double"}) and not any(
        one.logical for one in kind.branches
    )
    return kind.kind == "union" and len(kind.branches) > 1 and not is_number


def _matched(
    own: Sequence[Type], others: Sequence[Type], sort: Callable[[Type], Any]
) -> dict[int, int]:
    """Indices of the same types, each at most once: by full names, simple ones, then aliases."""
    pairs: dict[int, int] = {}
    for is_same in (_same_name, _same_simple_name, _is_alias):
        left = [place for place in range(len(others)) if place not in pairs.values()]
        for index, one in enumerate(own):
            if index in pairs:
                continue
            same = (at for at in left if sort(others[at]) == sort(one) and is_same(one, others[at]))
            found = next(same, None)
            if found is not None:
                pairs[index] = found
                left.remove(found)
    return pairs


def _kind(one: Type) -> str:
    return one.kind


def _sort(one: Type) -> tuple[str, str, int]:
    return one.kind, one.logical, one.scale


def _same_name(one: Type, other: Type) -> bool:
    return one.name == other.name


def _same_simple_name(one: Type, other: Type) -> bool:
    return _simple(one) == _simple(other)


def _is_alias(one: Type, other: Type) -> bool:
    """Whether one of them has an older name of the other, whichever is the newer."""
    return _simple(one) in other.aliases or _simple(other) in one.aliases


def _simple(one: Type) -> str:
    return one.name.rpartition(".")[2]
