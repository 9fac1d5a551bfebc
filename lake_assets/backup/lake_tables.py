"""Which tables a lake has, by its folders, whoever made them; what they hold is not looked at."""

from collections.abc import Iterable

from lake_assets.delta.table_log import TableLog, log_of, table_folders
from lake_assets.model.tables import TABLE_NAME, Layer, TableRef, quarantine_of
from lake_assets.storage.store import Store


def tables_in(lake: Store, layers: Iterable[Layer] = Layer) -> list[TableRef]:
    """All Delta tables of a lake, whoever made them; or of some of its layers."""
    return [table for table in table_folders(lake, layers) if log_of(lake, table).exists()]


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
