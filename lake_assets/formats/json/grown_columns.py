"""A table's columns with those that rows asked for, as far as there is room for them. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import pyarrow as pa

from lake_assets.formats.json.columns import is_addable
from lake_assets.formats.json.folded_types import FoldedColumns
from lake_assets.formats.json.inference import MOST_COLUMNS, joined, names_in
from lake_assets.model.misfits import RESCUED


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

    crowded: Collection[str] = ()
    """Names whose rows together have more fields than a table may have."""


def grown_columns(columns: pa.Schema, asked: Iterable[pa.Field], rules: GrowthRules) -> Grown:
    """A table's columns with further ones, and with wider types.

    Once it was asked in vain for more names than a table has columns, it counts as full.

    Args:
        columns: of the table.
        asked: by name, types that rows have; a name may have several, in any order.
        rules: what may become of them.
    """
    folded = FoldedColumns(MOST_COLUMNS)
    for field in asked:
        folded.add(field.name, field.type)
    now = {column.name: column for column in columns}
    taken = {name.lower() for name in (*now, *rules.taken)}
    room = max(
        0, MOST_COLUMNS - sum(names_in(f.type) for name, f in now.items() if name != RESCUED)
    )
    refused = {*rules.crowded, *folded.crowded}
    for name, one in folded.kinds.items():
        have = now.get(name)
        if name in rules.fixed or (have is not None and not rules.widens):
            continue
        if have is None and (room < 1 or not is_addable(name, taken)):
            refused.add(name)
            continue
        kind = one.type
        if have is not None:
            rounds = name not in rules.unrounded
            kind = joined(have.type, kind, adds=rules.adds, rounds=rounds)
        grown = names_in(kind) - (0 if have is None else names_in(have.type))
        if grown > room:
            refused.add(name)
            continue
        room -= grown
        taken.add(name.lower())
        now[name] = pa.field(name, kind) if have is None else have.with_type(kind)
    return Grown(
        columns=pa.schema(list(now.values())),
        refused=frozenset(refused),
        room=room if len(refused) <= MOST_COLUMNS else 0,
    )
