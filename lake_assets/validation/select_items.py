"""Which names the items of a `select` give, told from their words."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lake_assets.validation.known_columns import Columns


def names_selected(items: Sequence[str], columns: Columns) -> Columns:
    """What is selected of some columns; all of them if there are no items."""
    from sqlglot import exp, parse_one  # noqa: PLC0415 - takes 0.3 s, and imports of it are rare
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    if not items:
        return columns
    found: dict[str, pa.DataType | None] = {}
    is_open = False
    for item in items:
        try:
            select = parse_one(f"select {item}", read="spark")
        except (SqlglotError, RecursionError):
            is_open = True  # which is told of the item itself
            continue
        for one in select.expressions if isinstance(select, exp.Select) else ():
            names, is_more = _names_of(one, columns)
            found |= names
            is_open = is_open or is_more
    return Columns(found, is_open)


def _names_of(item: Any, columns: Columns) -> tuple[Mapping[str, pa.DataType | None], bool]:  # noqa: ANN401 - sqlglot's
    """What one item gives, and whether it may give more."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    if isinstance(item, exp.Star):
        left_out = {one.name.lower() for one in item.args.get("except_") or ()}
        kept = {name: kind for name, kind in columns.types.items() if name.lower() not in left_out}
        return kept, columns.is_open
    if isinstance(item, exp.Alias):
        own = columns.find(item.this.name) if isinstance(item.this, exp.Column) else None
        is_plain = own is not None and len(item.this.parts) == 1
        return {item.alias: columns.types[str(own)] if is_plain else None}, False
    if isinstance(item, exp.Aliases):
        return dict.fromkeys(name.name for name in item.aliases), False
    if isinstance(item, exp.Column) and not item.is_star:
        own = columns.find(item.name) if len(item.parts) == 1 else None
        # Spark calls it as it is written, whatever case the column is in.
        return {item.name: columns.types[own] if own else None}, False
    return {}, True  # Spark names it, as `explode(items)` is `col`
