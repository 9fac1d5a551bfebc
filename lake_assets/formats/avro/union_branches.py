"""Which types of unions are the same in several versions, and which member each becomes. Pure.

Named types are matched as Avro's specification has it, by their names without a namespace, so that
a namespace may move. Full names decide where a union has two types of one simple name. No two types
of one union are ever the same, so none takes the other's values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from lake_assets.formats.avro.schema import Type

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


@dataclass(slots=True)
class Members:
    """The types of unions, by where they stand, in the order in which versions brought them."""

    found: dict[Place, list[Type]] = field(default_factory=dict)
    """Each as the last version had it that did."""

    def applied(self, kind: Type, place: Place) -> Type:
        """With the members' names; to be called with the oldest version first.

        A version's members depend on older ones alone: what comes later changes none of them.
        """
        members = self._members(kind, place) if is_struct(kind) else ()
        fields = tuple(
            replace(one, type=self.applied(one.type, (*place, one.column))) for one in kind.fields
        )
        inner = tuple(
            self.applied(one, below)
            for one, below in zip(kind.inner, _places(kind, members, place), strict=True)
        )
        return replace(kind, members=members, fields=fields, inner=inner)

    def _members(self, kind: Type, place: Place) -> tuple[str, ...]:
        there = self.found.setdefault(place, [])
        pairs = _matched(kind.inner, there, _kind_and_logical)
        names: list[str] = []
        for index, one in enumerate(kind.inner):
            if one.kind == "null":
                names.append("")
                continue
            number = pairs.get(index, len(there))
            there[number : number + 1] = [one]
            names.append(f"member{number}")
        return tuple(names)


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
    """Indices of the same types, each at most once: by full names, then by simple ones."""
    pairs: dict[int, int] = {}
    for name_of in (_full_name, _simple_name):
        left = [place for place in range(len(others)) if place not in pairs.values()]
        for index, one in enumerate(own):
            if index in pairs:
                continue
            sign = (sort(one), name_of(one))
            same = (at for at in left if (sort(others[at]), name_of(others[at])) == sign)
            found = next(same, None)
            if found is not None:
                pairs[index] = found
                left.remove(found)
    return pairs


def _kind(one: Type) -> str:
    return one.kind


def _kind_and_logical(one: Type) -> tuple[str, str]:
    return one.kind, one.logical


def _full_name(one: Type) -> str:
    return one.name


def _simple_name(one: Type) -> str:
    return one.name.rpartition(".")[2]


def _places(kind: Type, members: Sequence[str], place: Place) -> list[Place]:
    if kind.kind == "union":
        return [(*place, name) for name in members] if members else [place for _ in kind.inner]
    return [(*place, "[]") for _ in kind.inner]
