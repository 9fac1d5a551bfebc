"""Many inferred types folded into one a name, whatever their order. Pure.

A fold costs what comes to it and is no larger than a table may be: of rows with ids as names each
has a type of its own. How a column that is there gets wider is `formats.json.inference`'s.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

RANKS = (pa.float64(), pa.int64(), pa.bool_(), pa.string())
"""Inferred types of scalars, in the order in which the first is chosen. Numbers come before
booleans before strings, since text among numbers is a mark for their absence mostly; nested types
come last, arrays before structs."""

_NUMBERS = {pa.float64(), pa.int64()}


@dataclass(slots=True)
class FoldedType:
    """Types that one value may have, in one tree; empty before the first is added."""

    scalars: set[pa.DataType] = field(default_factory=set)
    item: "FoldedType | None" = None
    fields: dict[str, "FoldedType"] = field(default_factory=dict)

    def add(self, kind: pa.DataType) -> int:
        """Fold a type in; says how many values of one kind came with it that were not there."""
        if pa.types.is_struct(kind):
            new = 0
            for one in kind:
                own = self.fields.get(one.name)
                if own is None:
                    own = self.fields[one.name] = FoldedType()
                new += own.add(one.type)
            return new
        if pa.types.is_list(kind):
            self.item = self.item or FoldedType()
            return self.item.add(kind.value_type)
        is_new = not self.scalars
        self.scalars.add(kind)
        return int(is_new)

    @property
    def goes_together(self) -> bool:
        """Whether its type holds all that were added, integers that doubles round aside."""
        kinds = len(self.scalars - _NUMBERS) + bool(self.scalars & _NUMBERS)
        inner = [*self.fields.values(), *([self.item] if self.item else [])]
        is_one = kinds + bool(self.fields) + (self.item is not None) == 1
        names = {name.lower() for name in self.fields}
        return is_one and len(names) == len(self.fields) and all(o.goes_together for o in inner)

    @property
    def type(self) -> pa.DataType:
        """The first of those that were added, made to hold the others as far as it can.

        Of fields whose names differ by case the first by its name is one, the others are none.
        """
        if self.scalars:
            return min(self.scalars, key=RANKS.index)
        if self.item is not None:
            return pa.list_(pa.field("item", self.item.type))
        names: dict[str, str] = {}
        for name in self.fields:
            lower = name.lower()
            names[lower] = min(name, names.get(lower, name))
        return pa.struct([pa.field(name, self.fields[name].type) for name in names.values()])


@dataclass(slots=True)
class FoldedColumns:
    """By name, the types that rows have for it, as long as a table could have them."""

    most: int
    """How many values of one kind a name may have: the fields of its structs."""

    kinds: dict[str, FoldedType] = field(default_factory=dict)
    crowded: set[str] = field(default_factory=set)
    """Names that have more. Of them nothing else is kept."""

    _sizes: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, kind: pa.DataType) -> None:
        """Fold in a type that a row has for a name."""
        if name in self.crowded:
            return
        folded = self.kinds.setdefault(name, FoldedType())
        self._sizes[name] = self._sizes.get(name, 0) + folded.add(kind)
        if self._sizes[name] > self.most:
            self.crowd([name])

    def crowd(self, names: Iterable[str]) -> None:
        """Have names counted among those that have more than a table could have."""
        for name in names:
            self.crowded.add(name)
            self.kinds.pop(name, None)

    @property
    def columns(self) -> list[pa.Field]:
        """Names that are not crowded with their types, in the order in which they came."""
        return [pa.field(name, folded.type) for name, folded in self.kinds.items()]


def type_of_all(kinds: Iterable[pa.DataType], most: int) -> pa.DataType | None:
    """The type that holds all of some, integers that doubles round aside, or None if none does.

    Args:
        kinds: inferred types.
        most: how many values of one kind it may have.
    """
    folded, size = FoldedType(), 0
    for kind in kinds:
        size += folded.add(kind)
        if size > most:
            return None
    return folded.type if size and folded.goes_together else None
