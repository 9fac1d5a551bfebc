"""A table's columns with those that rows asked for, as far as there is room for them. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import pyarrow as pa

from lake_assets.formats.json.columns import MOST_COLUMNS, can_be_added
from lake_assets.formats.json.inference import joined, names_in, ordered
from lake_assets.model.payload import RESCUED


@dataclass(frozen=True, kw_only=True, slots=True)
class Grown:
    """Columns, and what they did not become."""

    columns: pa.Schema
    refused: frozenset[str] = frozenset()
    """Names whose rows asked for what there is no room for."""

    room: int = MOST_COLUMNS
    """How many further columns and fields there may be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GrowthRules:
    """Which columns may come, and what may become of those that are there."""

    fixed: Collection[str]
    """Columns that stay as they are."""

    taken: Collection[str]
    """Names that no column may get."""

    widens: bool
    """Whether columns that are there get wider."""

    adds: bool
    """Whether structs among these get fields."""

    unrounded: Collection[str]
    """Columns whose integers become no doubles."""


def grown_columns(columns: pa.Schema, asked: Iterable[pa.Field], rules: GrowthRules) -> Grown:
    """A table's columns with further ones, and with wider types.

    Args:
        columns: of the table.
        asked: by name, types that rows have; a name may have several, in any order.
        rules: what may become of them.
    """
    kinds: dict[str, list[pa.DataType]] = {}
    for field in asked:
        kinds.setdefault(field.name, []).append(field.type)
    now = {column.name: column for column in columns}
    room = max(
        0, MOST_COLUMNS - sum(names_in(f.type) for name, f in now.items() if name != RESCUED)
    )
    refused = set()
    for name, some in kinds.items():
        have = now.get(name)
        if name in rules.fixed or (have is not None and not rules.widens):
            continue
        if have is None and not can_be_added(name, [*now, *rules.taken]):
            refused.add(name)
            continue
        first, *others = ordered(some)
        kind = first
        if have is not None:
            kind, others = have.type, [first, *others]
        adds, rounds = rules.adds or have is None, name not in rules.unrounded
        for other in others if rules.widens else ():
            kind = joined(kind, other, adds=adds, rounds=rounds)
        grown = names_in(kind) - (0 if have is None else names_in(have.type))
        if grown > room:
            refused.add(name)
            continue
        room -= grown
        now[name] = pa.field(name, kind) if have is None else have.with_type(kind)
    return Grown(columns=pa.schema(list(now.values())), refused=frozenset(refused), room=room)
