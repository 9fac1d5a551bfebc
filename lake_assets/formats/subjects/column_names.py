"""Which column of the feed a subject's column is, where that of its name has another type. Pure.

A name is one column of one type in the whole feed. A subject whose field of the name does not go
with that has a column of its own, with the type in its name: `id_bigint` beside `id`.
Docs: `docs/decisions/0071-one-format-over-several-subjects.md`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.schema_merge import in_words, is_timed

GoesWith: TypeAlias = Callable[[pa.Field, pa.Field], bool]
"""Whether a column, the first, holds a field's values, or gets a type that does."""

Beside: TypeAlias = Callable[[str], str]
"""What a column's name has more than the one that it stands beside; empty of any other."""

Names: TypeAlias = Mapping[str, str]
"""By a subject's own name, the feed's where that is another one."""


def column_names(
    own: Sequence[Iterable[pa.Field]],
    columns: Mapping[str, pa.Field],
    goes_with: GoesWith,
    fixed: frozenset[str] = frozenset(),
    beside: Beside = lambda _: "",
) -> dict[str, str]:
    """The feed's column of each of a subject's own ones.

    It is told by the type that the oldest version has, which no later one changes, so that a column
    stays where it is. Where that does not go with the feed's column, its name gets the type, and
    once more as long as what it is called then is another's. Of a field whose versions do not go
    together one that does is enough, unless there is such a column already: the others are refused.

    Args:
        own: the columns of each version, the oldest first; those of several messages may have one
            name.
        columns: the feed's, by name in lower case.
        goes_with: by the rules of the subject's language.
        fixed: names that are not changed, in lower case: a row without such a column is lost.
        beside: such a column is called after what the other is called.
    """
    every = _by_name(one for version in own for one in version)
    work = _Work(columns, goes_with, beside, every)
    known: set[str] = set()
    for version in own:
        new = {key: kinds for key, kinds in _by_name(version).items() if key not in known}
        known |= new.keys()
        after = {key: kinds for key, kinds in new.items() if beside(kinds[0].name)}
        first = {key: kinds for key, kinds in new.items() if key not in after}
        for some in (first, after):
            clashing = []
            for key, kinds in some.items():
                name = kinds[0].name if key in fixed else work.plain(kinds[0].name)
                is_free = _is_no_column(columns.get(name.lower())) or work.fits(name, kinds)
                if key in fixed or is_free:
                    work.take(name, kinds[0].name)
                else:
                    clashing.append(kinds)
            for kinds in clashing:
                work.take(work.with_type(kinds), kinds[0].name)
    return work.found


def _by_name(fields: Iterable[pa.Field]) -> dict[str, list[pa.Field]]:
    """Fields by name in lower case, each with the types that it has."""
    found: dict[str, list[pa.Field]] = {}
    for one in fields:
        found.setdefault(one.name.lower(), []).append(one)
    return found


@dataclass(slots=True)
class _Work:
    columns: Mapping[str, pa.Field]
    goes_with: GoesWith
    beside: Beside
    every: Mapping[str, Sequence[pa.Field]]
    """By name in lower case, the types that any version has."""

    found: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def fits(self, name: str, kinds: Iterable[pa.Field]) -> bool:
        """Whether a column is free, and holds values of one of the types."""
        if name.lower() in self.taken:
            return False
        have = self.columns.get(name.lower())
        if have is None:
            return True
        return any(self.goes_with(have, one.with_name(have.name)) for one in kinds)

    def take(self, name: str, own: str) -> None:
        """Have a field of the subject be a column of the feed."""
        have = self.columns.get(name.lower())
        self.found[own] = name if have is None else have.name
        self.taken.add(name.lower())

    def plain(self, own: str) -> str:
        """What a field's column is called without a type of its own."""
        more = self.beside(own)
        other = own.removesuffix(more)
        return f"{self.found.get(other, other)}{more}" if more else own

    def with_type(self, kinds: Sequence[pa.Field]) -> str:
        """The column of a field that does not go with the one of its name."""
        own = kinds[0].name
        plain = self.plain(own)
        every = self.every[own.lower()]
        name = with_type(plain, kinds[0])
        # Another version's type may be in the column of that name by now, and it is the field's.
        while not self.fits(name, every):
            name = with_type(name, kinds[0])
        is_new = name.lower() not in self.columns
        return plain if is_new and self.fits(plain, every) else name


def with_type(name: str, one: pa.Field) -> str:
    """A name with the type of a field: `id_bigint`, `price_decimal_10_2`, `at_struct`."""
    words = in_words(one.type).partition("<")[0]
    kind = "microseconds" if is_timed(one) else re.sub(r"\W+", "_", words).strip("_")
    return f"{name}_{kind}"


def may_be(name: str, one: pa.Field) -> bool:
    """Whether a column is a field's under a name with its type."""
    made = with_type(one.name, one)
    while len(made) < len(name):
        made = with_type(made, one)
    return made == name


def changed(names: Names) -> dict[str, str]:
    """The names that are others in the feed."""
    return {own: name for own, name in names.items() if own != name}


def renamed(columns: pa.Schema, names: Names) -> pa.Schema:
    """Columns under other names."""
    if names.keys().isdisjoint(columns.names):
        return columns
    return pa.schema([one.with_name(names.get(one.name, one.name)) for one in columns])


def renames_in_feed(renames: Renames, names: Names) -> Renames:
    """Older names of a subject's columns as the feed's columns have them."""
    if not names:
        return renames
    now = {names.get(old, old): names.get(new, new) for old, new in renames.now.items()}
    within = {names.get(name, name): inner for name, inner in renames.within.items()}
    return Renames(now={old: new for old, new in now.items() if old != new}, within=within)


def _is_no_column(one: pa.Field | None) -> bool:
    """Whether a name is no column's: one with a type without values stands for it."""
    return one is not None and bool(pa.types.is_null(one.type))
