"""Columns by their names, with types where these are known, and whether there may be others."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Columns:
    """What rows have."""

    types: Mapping[str, pa.DataType | None] = field(default_factory=dict)
    """By name; None of one that is computed."""

    is_open: bool = False
    """Whether there may be others: then a name that is not here may be one."""

    def find(self, name: str) -> str | None:
        """What a column is called that SQL calls so: case tells none apart."""
        return next((one for one in self.types if one.lower() == name.lower()), None)

    def and_(self, *others: str) -> "Columns":
        """With further ones."""
        return Columns({**self.types, **dict.fromkeys(others)}, self.is_open)

    def without(self, names: Container[str]) -> "Columns":
        """Without some."""
        left = {name: kind for name, kind in self.types.items() if name not in names}
        return Columns(left, self.is_open)

    @classmethod
    def of(cls, schema: Iterable[pa.Field], *, is_open: bool = False) -> "Columns":
        """Those of a schema."""
        return cls({one.name: one.type for one in schema}, is_open)


UNKNOWN = Columns(is_open=True)
"""Of rows of which nothing is known."""
