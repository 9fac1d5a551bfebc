"""What of a table's older versions is copied, since another table of the backup goes on from there.

A view that is merged reads what silver gained since the version that it stands for, file by file. A
compaction has joined them by then, and the joined one also has rows that the view has already: with
that alone it would have to be computed anew, from what silver still has. Reads logs only.
"""

from collections.abc import Iterator, Mapping

from lake_assets.backup.batch_versions import position_at
from lake_assets.backup.lake_tables import feed_of
from lake_assets.delta.commit import RETENTION
from lake_assets.delta.log_tail import actions_of, info_at, path_of
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.table_owners import owner_of
from lake_assets.model.lake_uri import is_address
from lake_assets.model.owners import Owner
from lake_assets.model.tables import Layer, TableRef, bronze_of
from lake_assets.silver.demux_position import demux_app
from lake_assets.storage.store import Store


def read_until(lake: Store, versions: Mapping[TableRef, int]) -> dict[TableRef, int]:
    """By table, up to which version all have read it that go on from it; absent if that is all.

    Args:
        lake: where they are.
        versions: of all tables, those that are copied.

    Raises:
        DeltaError: a version cannot be read.
        LakeError: a log cannot be read.
    """
    read: dict[TableRef, int] = {}
    owners = {table: owner_of(lake, table) for table in versions if table.layer is Layer.SILVER}
    for table, version in versions.items():
        for source, upto in _reads(lake, table, version, versions, owners):
            read[source] = min(upto, read.get(source, upto))
    return {table: version for table, version in read.items() if version < versions[table]}


def _reads(
    lake: Store,
    table: TableRef,
    version: int,
    versions: Mapping[TableRef, int],
    owners: Mapping[TableRef, Owner | None],
) -> Iterator[tuple[TableRef, int]]:
    """Which tables a table of the backup has read, and up to which versions."""
    if table.layer is Layer.QUARANTINE and (feed := feed_of(table)) is not None:
        log = log_of(lake, table)
        position = position_at(log, log.open(version), demux_app(feed))
        if position is not None and bronze_of(feed) in versions and position.bronze.version >= 0:
            yield bronze_of(feed), position.bronze.version
    elif table.layer is Layer.GOLD:
        yield from _read_of_silver(lake, table, version, owners)


def _read_of_silver(
    lake: Store, table: TableRef, version: int, owners: Mapping[TableRef, Owner | None]
) -> Iterator[tuple[TableRef, int]]:
    owner = owner_of(lake, table)
    try:
        told = info_at(log_of(lake, table), version)
    except FileNotFoundError:
        return  # then nobody can tell what it stands for
    one, every = position_from(told), PositionOfAll.of(told)
    for silver, of_silver in owners.items():
        if owner is None or of_silver is None or of_silver.feed != owner.feed:
            continue
        if one is not None and of_silver.key == owner.key:
            yield silver, one.silver_version
        elif every is not None and of_silver.key in every.versions:
            yield silver, every.versions[of_silver.key]


def files_gained(log: TableLog, after: int, upto: int) -> dict[str, int]:
    """By path, the size of each file that came with rows in the versions above `after`.

    As far as they are still there, and the log tells of them: what is lacking makes whoever reads
    them start anew, as it would in the lake itself. Files whose rows somebody deleted or changed
    are left out: nobody goes on from those, and whoever deletes rows wants no copies of them.
    """
    files: dict[str, int] = {}
    for version in range(after + 1, upto + 1):
        try:
            actions = list(actions_of(log, version))
        except FileNotFoundError:
            break
        aged = any(kind == "commitInfo" and RETENTION in action for kind, action in actions)
        for kind, action in actions:
            if kind == "add" and action["dataChange"] and not aged:
                files[path_of(action)] = action["size"]
            elif kind == "remove" and action.get("dataChange", True) and not aged:
                files.pop(path_of(action), None)
    return {
        path: size
        for path, size in files.items()
        if not is_address(path) and log.store.stat(log.data_file(path)) is not None
    }
