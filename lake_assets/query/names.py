"""Which table of a lake a name in a query means: `gold.name`, or the name alone. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from lake_assets.errors import QueryError
from lake_assets.model.tables import Layer, TableRef


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedTable:
    """A table as a query names it."""

    parts: tuple[str, ...]
    place: str = ""
    """Where in the query, in words; empty if that is not known."""

    def __str__(self) -> str:
        """As it was written, but for quotes."""
        return ".".join(self.parts)


def table_named(named: NamedTable, known: Collection[TableRef]) -> TableRef | None:
    """The table that is meant; None if the lake has none of that name.

    Upper and lower case are one, as everywhere in SQL, where no two tables differ by that alone.

    Raises:
        QueryError: tables of several layers have the name.
    """
    *layer, name = named.parts
    if len(layer) > 1:
        return None
    alike = [one for one in known if _is_called(one, layer, name)]
    exact = [one for one in alike if one.name == name]
    found = exact or alike
    if len(found) > 1:
        names = " or ".join(sorted(shown(one) for one in found))
        raise QueryError(f"table {named}", f"is one of several{named.place}", f"Write {names}")
    return found[0] if found else None


def _is_called(table: TableRef, layer: Sequence[str], name: str) -> bool:
    is_of_layer = not layer or layer[0].casefold() == table.layer.value
    return is_of_layer and table.name.casefold() == name.casefold()


def shown(table: TableRef) -> str:
    """A table's name as a query takes it."""
    name = table.name if table.name.isidentifier() else f'"{table.name}"'
    return f"{table.layer}.{name}"


def unknown_table(named: NamedTable, known: Collection[TableRef]) -> QueryError:
    """The error of a name that no table has: with the nearest that one has, if one is near."""
    fact = f"is not in the lake{named.place}"
    if not known:
        return QueryError(f"table {named}", fact, "The lake has none yet: run `lake-assets stream`")
    by_name = {one.name.casefold(): one for one in sorted(known)}
    near = get_close_matches(named.parts[-1].casefold(), by_name, n=1)
    if near:
        return QueryError(f"table {named}", fact, f"Did you mean {shown(by_name[near[0]])}?")
    layers = ", ".join(layer.value for layer in Layer)
    step = f"`lake-assets tables` lists them; their layers are {layers}"
    return QueryError(f"table {named}", fact, step)
