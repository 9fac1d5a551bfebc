"""A lake with persons in it, as streams leave it: raw rows, silver, a refused row, and gold."""

from typing import Any

import pyarrow as pa

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.increments import Point
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum
from lake_assets.erasure.asked import Request
from lake_assets.erasure.run import Erased, erase
from lake_assets.erasure.wanted import Wanted
from lake_assets.feeds.load import load_feeds
from lake_assets.model.owners import Owner
from lake_assets.model.tables import TableRef
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux_position import POSITION, Position, batch_of
from lake_assets.storage.store import Store
from lake_assets_tests.backup.lakes import BRONZE, QUARANTINE, UNO, UNO_AGG
from lake_assets_tests.maintenance.lakes import WrittenLake

_RAW = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("value", pa.binary()),
    ]
)
_REFUSED = pa.schema([*_RAW, ("reason", pa.string()), ("detail", pa.string())])
_SILVER = pa.schema(
    [
        ("_topic", pa.string()),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("gamer_id", pa.string()),
    ]
)
_GOLD = pa.schema([("gamer_id", pa.string()), ("session_count", pa.int64())])

TOPIC = "game-stream"


class PeopledLake(WrittenLake):
    """Tables of the feed `games`; each event is a row of bronze and one of silver."""

    def __init__(self, settings: Settings, store: Store | None = None) -> None:
        super().__init__(settings, "games")
        if store is not None:
            self.store = store
        columns = {BRONZE: _RAW, QUARANTINE: _REFUSED, UNO: _SILVER}
        keys = {BRONZE: "", QUARANTINE: "", UNO: "uno"}
        owners = {table: Owner(feed="games", key=key) for table, key in keys.items()}
        self.committer.create(columns, owners=owners)
        self.offset = 0

    def take(self, *gamers: str, refused: str = "") -> None:
        """A batch of an event a gamer, and of one that is refused."""
        self.number += 1
        places: dict[str, list[Any]] = {
            "topic": [TOPIC] * len(gamers),
            "partition": [0] * len(gamers),
            "offset": [self.offset + number for number in range(len(gamers))],
        }
        raw = {**places, "value": [f"<{gamer}>".encode() for gamer in gamers]}
        self.offset += len(gamers)
        bad: dict[str, list[Any]] = {
            "topic": [],
            "partition": [],
            "offset": [],
            "value": [],
            "reason": [],
            "detail": [],
        }
        if refused:
            bad = {
                "topic": [TOPIC],
                "partition": [0],
                "offset": [self.offset],
                "value": [refused.encode()],
                "reason": ["decode"],
                "detail": [None],
            }
            raw = {name: [*its, *bad[name]] for name, its in raw.items()}
            self.offset += 1
        self._add(BRONZE, pa.table(raw, schema=_RAW), Batch("ingest", self.number))
        silver = {f"_{name}": its for name, its in places.items()}
        rows = pa.table({**silver, "gamer_id": gamers}, schema=_SILVER)
        self._add(UNO, rows, batch_of("games", self.number))
        log = log_of(self.store, BRONZE)
        position = Position(
            number=self.number,
            bronze_id=str(log.open().metadata().id),
            bronze=Point.at(log, log.open().version()),
            tables=checksum({UNO: self.number}),
        )
        info = {POSITION: position.to_json()}
        rows = pa.table(bad, schema=_REFUSED)
        self._add(QUARANTINE, rows, batch_of("games", self.number), info)

    def refresh(self, *gamers: str) -> None:
        """The view of `uno`, as it counted these gamers."""
        owner = Owner(feed="games", key="uno", view="player_agg")
        self.committer.create({UNO_AGG: _GOLD}, owners={UNO_AGG: owner})
        rows = pa.table({"gamer_id": gamers, "session_count": [1] * len(gamers)}, schema=_GOLD)
        self._add(UNO_AGG, rows, Batch("refresh", self.number))

    def _add(
        self, table: TableRef, rows: pa.Table, batch: Batch, info: dict[str, str] | None = None
    ) -> None:
        files = [self.file(table, rows)] if rows.num_rows else []
        self.committer.append([Commit(table=table, files=files, info=info or {})], batch)

    def forget(self, *gamers: str, **more: bool) -> Erased:
        """Erase gamers, as the command does; Spark is not needed where there is no gold."""
        return forget(self.settings, *gamers, **more)


def forget(settings: Settings, *gamers: str, **more: bool) -> Erased:
    """Erase gamers from the lake of some settings."""

    def nowhere() -> None:
        raise AssertionError

    wanted = [Wanted(column="gamer_id", values=gamers)] if gamers else []
    request = Request(wanted=wanted, **more)
    return erase(settings, load_feeds(settings.feeds), nowhere, request)


def gamers_in(store: Store, table: TableRef = UNO) -> list[str]:
    """Who is in a table, sorted."""
    return sorted(log_of(store, table).open().to_pyarrow_table()["gamer_id"].to_pylist())
