"""At which versions of a table which batches of streams are in it. Reads logs only."""

from collections.abc import Iterable
from typing import Any

from deltalake import DeltaTable

from lake_assets.delta.log_tail import actions_of
from lake_assets.delta.table_log import TableLog
from lake_assets.silver.demux_position import Position, position_in


def position_at(log: TableLog, handle: DeltaTable, app_id: str) -> Position | None:
    """The position that a quarantine table records at the handle's version; None if it has none.

    Unlike deltalake's history it reads nothing of later versions, which may be torn.
    """
    number = handle.transaction_version(app_id)
    for at in range(handle.version() if number is not None else -1, -1, -1):
        try:
            infos = [info for kind, info in actions_of(log, at) if kind == "commitInfo"]
        except FileNotFoundError:
            return None
        position = next(filter(None, map(position_in, infos)), None)
        if position is not None and position.number == number:
            return position
    return None


def version_before(log: TableLog, newest: int, app_id: str, most: int) -> int | None:
    """The newest version whose last batch of an application is no later than `most`.

    Returns:
        None if the log has forgotten it.
    """
    version = newest
    for at in range(newest, -1, -1):
        try:
            number = _number(actions_of(log, at), app_id)
        except FileNotFoundError:
            return None
        if number is not None and number <= most:
            return version
        if number is not None:
            version = at - 1
    return max(version, 0)


def _number(actions: Iterable[tuple[str, Any]], app_id: str) -> int | None:
    found = (a["version"] for kind, a in actions if kind == "txn" and a["appId"] == app_id)
    return next(found, None)
