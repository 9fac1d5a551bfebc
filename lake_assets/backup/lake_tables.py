"""Which tables a lake has, by its folders, whoever made them; what they hold is not looked at."""

from collections.abc import Iterable

from lake_assets.delta.table_log import TableLog, log_of, table_folders
from lake_assets.model.tables import TABLE_NAME, Layer, TableRef, quarantine_of
from lake_assets.storage.at_once import at_once
from lake_assets.storage.store import Store


def tables_in(lake: Store, layers: Iterable[Layer] = Layer) -> list[TableRef]:
    """All Delta tables of a lake, whoever made them; or of some of its layers."""
    tables = list(table_folders(lake, layers))
    there = at_once(lake, lambda table: log_of(lake, table).exists(), tables)
    return [table for table, is_one in zip(tables, there, strict=True) if is_one]


def other_tables_in(lake: Store) -> list[str]:
    """Delta tables among a lake's whose names no table of a lake has, so that nobody sees them."""
    return [
        f"{layer}/{name}"
        for layer in Layer
        for name in lake.folders(lake.root / layer.value)
        if not TABLE_NAME.fullmatch(name) and TableLog(lake, lake.root / layer / name).exists()
    ]


def feed_of(quarantine: TableRef) -> str | None:
    """Whose a quarantine table is, by its name; None if it is no feed's."""
    prefix = quarantine_of("").name
    is_feeds = quarantine.layer is Layer.QUARANTINE and quarantine.name.startswith(prefix)
    return quarantine.name.removeprefix(prefix) if is_feeds else None
