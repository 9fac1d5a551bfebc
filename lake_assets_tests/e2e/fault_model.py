"""What a feed's tables are to hold after each step of a random sequence, and what they do hold.

What the steps do to the lake is in `test_random_faults`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Self

import duckdb
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.routes import TableColumns
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.e2e import transforms
from lake_assets_tests.e2e.fault_shapes import Shape, Version, number_of
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake
from lake_assets_tests.where_lakes_are import handle_of

Place = tuple[int, int]
"""A partition and an offset; of the second topic, as `_OTHER`."""

_OTHER = 100
"""By so much a partition of the second topic counts as more: each offset is in both topics."""

Rows = Counter[tuple[str, int, int, object]]
"""Table, partition, offset and a value of each row, and how often it is there."""

Sent = tuple[str, str, int, int, int]
"""A row of silver as a sink knows it: game, topic, partition, offset, and which of its elements."""

DELETED = "deleted"

_DEVICES = ("d1", "d/2 %41", "")
"""What partitions some tables: no folder's name among them, and what a log takes for null."""

LAYOUTS = ("none", "device", "day", "device and day", "mark")

_LAYOUT_OF = {
    "none": {},
    "device": {"device_id": "device_id"},
    "day": {"day": "date(happened)"},
    "device and day": {"device_id": "device_id", "day": "date(happened)"},
}


@dataclass(frozen=True)
class Event:
    """What was sent."""

    key: str
    """Empty of one that cannot be decoded, or that the feed's function refuses."""

    mark: str
    """The value of the field that is renamed now and then; no two events have the same."""

    told: str
    """What its rows say of themselves: the mark, and the fields that came with later versions."""

    version: int
    value: bytes
    at: datetime
    """When the source got it, as its producer says."""


@dataclass
class Model:
    """Of what a copy of the lake has: where each event is to be, that the streams have taken."""

    keys: frozenset[str]
    placed: dict[Place, str] = field(default_factory=dict)
    """By event, a game, the quarantine table's name or `DELETED`."""

    gone: set[Place] = field(default_factory=set)
    """Events that were deleted from bronze."""

    retained: dict[int, int] = field(default_factory=dict)
    """By partition, the offset below which bronze lost rows for their age: what they became stays
    as it is."""

    column: str = ""
    """The name under which silver's tables are to have the marks."""

    layout: Mapping[str, str] = field(default_factory=dict)
    """What silver's tables are partitioned by, as the feed says."""

    columns: TableColumns = TableColumns.SHARED
    was_shared: bool = False
    """Tables of own columns had all of them for a while, and keep them."""

    recorded: set[Sent] = field(default_factory=set)
    """Rows that the feed's sink need not send any more."""

    is_torn: bool = False
    """One of its tables is of another time than the others."""

    is_cut_off: bool = False
    """A batch was killed, so events of it that are not placed may be in tables already."""

    def copy(self) -> Self:
        own = {"placed": dict(self.placed), "gone": set(self.gone)}
        own["recorded"] = set(self.recorded)
        return replace(self, **own, retained=dict(self.retained))


class Part:
    """A feed of the lake: its topics, what was sent there, and its model.

    With the second version of its schema a second topic comes, which it reads beside the first.
    Where the producer sends events again, the feed deduplicates: which of an event's places its
    row has is not told, but that it has one.
    """

    def __init__(self, name: str, keys: tuple[str, ...], shape: Shape, lake: StreamedLake) -> None:
        """The last of the games is declared later, and its rows are quarantined until then."""
        self.name, self.keys, self.shape, self.lake = name, keys, shape, lake
        self.sends_again = shape.sends_again
        self.bronze, self.quarantine = bronze_of(name), quarantine_of(name)
        self.versions: list[Version] = []
        self.topics = (lake.topic, Topic(lake.topic.endpoints))
        self.subjects = shape.subjects_of(self.topics)
        self.events: dict[Place, Event] = {}
        self._marks = count()
        self.model = Model(frozenset(keys[:-1]), columns=shape.columns)
        self.has_aged = self.is_late = False
        self.register(renames=False)

    @property
    def feed(self) -> Feed:
        keys = tuple(sorted(self.model.keys))
        own = self.shape.declared(self.topics, self.subjects, keys)
        own |= {"feed": self.name, "partition_by": dict(self.model.layout)}
        own |= {"columns": self.model.columns, **self.shape.of_keys(self.keys)}
        if len(self.versions) > 1:
            names = [topic.name for topic in self.topics]
            own["source"] = Source(kafka=KafkaSource(topics=names))
        return self.lake.topic.feed(**own)

    @property
    def waiting(self) -> set[Place]:
        """Events that the streams are still to take."""
        return self.events.keys() - self.model.placed.keys()

    def register(self, *, renames: bool, is_late: bool = False) -> None:
        """Register versions with one more field, or with another name of the one for marks.

        Those of messages that are late are under other subjects until they arrive.
        """
        number, last = len(self.versions), self.versions[-1] if self.versions else None
        column = f"mark_{number}" if renames or last is None else last.column
        more = self.shape.more_with(number, last.more if last else {})
        texts = tuple(self.shape.text(at, column, more) for at in range(len(self.subjects)))
        envelope = self.shape.envelope(number, column)
        self.versions.append(
            Version(
                number=number,
                texts=texts,
                schema_ids=tuple(
                    topic.register_text(text, under=f"{topic.subject}-late" if is_late else "")
                    for topic, text in zip(self.subjects, texts, strict=True)
                ),
                envelope=envelope,
                envelope_id=self.topics[0].register_text(envelope) if self.shape.wraps else 0,
                column=column,
                more=more,
            )
        )
        self.is_late = is_late

    def arrive(self) -> None:
        """The newest version is registered where it belongs."""
        newest = self.versions[-1]
        found = map(Topic.register_text, self.subjects, newest.texts)
        assert tuple(found) == newest.schema_ids
        self.is_late = False

    def produce(self, key: str, many: int, version: Version, days: int = 0) -> None:
        """Send events of a game, or such as cannot be decoded, which are so many days old."""
        at = datetime.now(UTC) - timedelta(days=days)
        events = [self._event(key, version, at) for _ in range(many)]
        self._send([*events, *events[:1]] if self.sends_again else events, at)

    def send_again(self, event: Event) -> None:
        """As a producer does that was not answered."""
        self._send([event], event.at)

    def _send(self, events: list[Event], at: datetime) -> None:
        shares = (events[::2], events[1::2]) if len(self.versions) > 1 else (events, [])
        for number, (topic, share) in enumerate(zip(self.topics, shares, strict=True)):
            headers = [self.shape.headers_of(event.key) for event in share]
            found = topic.produce(*(event.value for event in share), at=at, headers=headers)
            places = [(partition + number * _OTHER, offset) for partition, offset in found]
            self.events |= dict(zip(places, share, strict=True))

    def _event(self, key: str, version: Version, at: datetime) -> Event:
        mark, shape = f"m{next(self._marks)}", self.shape
        device = _DEVICES[number_of(mark) % len(_DEVICES)]
        is_refused = not key and shape.transforms and number_of(mark) % 2 == 0
        gamer = transforms.NOBODY if is_refused else f"g{mark}"
        if key or is_refused:
            game = key or self.keys[0]
            value = shape.value_of(mark, game, gamer, device, at, version)
            return Event(key, mark, shape.told_of(mark, game, version), version.number, value, at)
        value = mark.encode()
        if shape.wraps and number_of(mark) % 3:
            value = shape.wrapped(value, mark, version)
        return Event(key, mark, "", version.number, value, at)

    def demux(self, lake: StreamedLake) -> None:
        """As the streams do it when they start."""
        with lake.following(self.feed) as follower:
            follower.recover()
            follower.demux.prepare(lake.spark)
            self.renew()
            follower.drain()

    def stream_in_one_job(self, lake: StreamedLake) -> None:
        """As `lake-assets stream --until-caught-up`."""
        lake.stream_in_one_job(self.feed, prepared=self.renew)

    def want(self, layout: str) -> None:
        """Declare another layout; one by marks is by the name that their field has now."""
        mark = self.versions[-1].column
        self.model.layout = _LAYOUT_OF.get(layout, {mark: mark})

    def is_laid_out(self) -> bool:
        """Whether the log of each of silver's tables has it so, and each file says the same."""
        names = [*self.model.layout]
        for key in self.model.keys:
            handle = self._handle(silver_of(key))
            if handle is None:
                continue
            if handle.metadata().partition_columns != names:
                return False
            for file in active_files(handle):
                if not file.has_all_columns or not names:
                    continue
                lake = lake_of(self.lake.settings)
                place = log_of(lake, silver_of(key)).data_file(file.path)
                with lake.open_for_reading(place) as source:
                    rows = pq.read_table(source, columns=names, partitioning=None)
                told = {n: {_text(value) for value in rows[n].to_pylist()} for n in names}
                if told != {name: {value} for name, value in file.partition.items()}:
                    return False
        return True

    def renew(self) -> None:
        """Silver's tables have the newest schema."""
        self.model.column = self.versions[-1].column

    def take(self) -> None:
        """The streams came to the end."""
        self.derive(self.waiting)
        self.model.is_cut_off = False

    def derive(self, places: Iterable[Place]) -> None:
        """Events were derived, maybe once more, from what bronze has."""
        for place in places:
            if place[1] < self.model.retained.get(place[0], 0) and place in self.model.placed:
                continue
            is_gone = place in self.model.gone
            self.model.placed[place] = DELETED if is_gone else self.table_for(place)

    def age(self, left: Rows, limit: datetime) -> None:
        """Rows left for their age; no younger one may, and none of bronze that was not taken."""
        assert all(self.events[partition, offset].at < limit for _, partition, offset, _ in left)
        self.has_aged = True
        for table, partition, offset, _ in left:
            place = (partition, offset)
            if table != self.bronze.name:
                self.delete(place, table)
                continue
            assert place in self.model.placed, place
            self.model.gone.add(place)
            ends = self.model.retained
            ends[partition] = max(ends.get(partition, 0), offset + 1)

    def delete(self, place: Place, table: str) -> None:
        """A row left its table; of an event that was sent again it was the only one."""
        for copy in self.copies_of(place) if table in self.keys else [place]:
            if self.model.placed.get(copy, table) == table:
                self.model.placed[copy] = DELETED

    def copies_of(self, place: Place) -> list[Place]:
        """All places of an event that are known to have been taken, and this one."""
        mark = self.events[place].mark
        taken = [p for p in self.model.placed if self.events[p].mark == mark]
        return [*{*taken, place}]

    def table_for(self, place: Place) -> str:
        event = self.events[place]
        is_known = not self.is_late or event.version < self.versions[-1].number
        return event.key if is_known and event.key in self.model.keys else self.quarantine.name

    def came(self) -> dict[Place, datetime]:
        """When each row of bronze came there, as bronze has it."""
        names = ["topic", "partition", "offset", "ingested_at"]
        handle = self._handle(self.bronze)
        assert handle is not None
        rows = handle.to_pyarrow_table(columns=names)
        more = {self.topics[0].name: 0, self.topics[1].name: _OTHER}
        return {
            (row["partition"] + more[row["topic"]], row["offset"]): row["ingested_at"]
            for row in rows.to_pylist()
        }

    def predicate(self, prefix: str, place: Place) -> str:
        """Which row of a table it is, as SQL has it."""
        number, partition = divmod(place[0], _OTHER)
        columns = {"topic": self.topics[number].name, "partition": partition, "offset": place[1]}
        return " and ".join(f"{prefix}{name} = {value!r}" for name, value in columns.items())

    def contents(self) -> Rows:
        """The rows of its tables, as DuckDB reads them."""
        found: Rows = Counter()
        with duckdb.connect() as db:
            for table in (self.bronze, self.quarantine):
                found += self._rows_of(db, table.name, table, "", "value")
            for key in self.keys:
                found += self._rows_of(db, key, silver_of(key), "_", "")
        return found

    def check(self) -> None:
        """Each event that was taken is in its place, once, with its values; no other event is.

        Of those that are still to be taken some may be there: ingest, or half a batch, was.
        """
        if self.model.is_torn:
            return
        found, sure = self._told(self.contents()), self._expected(self.model.placed)
        waiting = self._expected({place: self.table_for(place) for place in self.waiting})
        if self.sends_again:
            waiting -= Counter({row: many for row, many in sure.items() if row[0] in self.keys})
        wrong = {"lost": sure - found, "doubled or changed": found - (sure + waiting)}
        assert not any(wrong.values()), (self.name, wrong)

    def _told(self, rows: Rows) -> Rows:
        """The rows with no place where the model does not say which one it is."""
        told: Rows = Counter()
        for (table, *place, value), many in rows.items():
            is_any = self.sends_again and table in self.keys
            told[table, *((0, 0) if is_any else place), value] += many
        return told

    def _expected(self, placed: dict[Place, str]) -> Rows:
        rows = self._told(self._all_expected(placed))
        if not self.sends_again:
            return rows
        return Counter({row: 1 if row[0] in self.keys else many for row, many in rows.items()})

    def _all_expected(self, placed: dict[Place, str]) -> Rows:
        found: Rows = Counter()
        for place, table in placed.items():
            event = self.events[place]
            if place not in self.model.gone:
                found[self.bronze.name, *place, event.value] += 1
            if table != DELETED:
                is_refused = table == self.quarantine.name
                many = 1 if is_refused else self.shape.rows_of(event.mark)
                found[table, *place, event.value if is_refused else event.told] += many
        return found

    def _rows_of(
        self, db: duckdb.DuckDBPyConnection, name: str, table: TableRef, prefix: str, value: str
    ) -> Rows:
        handle = self._handle(table)
        if handle is None:
            return Counter()
        rows = db.from_arrow(handle.to_pyarrow_dataset())
        if not value:
            # Rows of which something is wrong count as others, by their value.
            at = self.keys.index(name)
            value = self.shape.in_sql(rows.columns, self.model.column, at)
            if not self.model.was_shared:
                assert not self.shape.foreign(rows.columns, name, at, self.versions)
        columns = f"{self._place_in_sql(prefix)}, {value}"
        return Counter((name, *row) for row in rows.project(columns).fetchall())

    def _place_in_sql(self, prefix: str) -> str:
        more = f"if({prefix}topic = '{self.topics[1].name}', {_OTHER}, 0)"
        return f'"{prefix}partition" + {more}, "{prefix}offset"'

    def sendable(self) -> set[Sent]:
        """The rows that silver's tables have, as a sink knows them."""
        element, found = "_element" if self.shape.explodes else "0", set()
        with duckdb.connect() as db:
            for key in self.model.keys:
                table = self._handle(silver_of(key))
                if table is not None:
                    rows = db.from_arrow(table.to_pyarrow_dataset())
                    columns = f"_topic, _partition, _offset, {element}"
                    found |= {(key, *row) for row in rows.project(columns).fetchall()}
        return found

    def mark_of(self, row: Sent) -> str:
        """Of the event that a row was made of."""
        _, topic, partition, offset, _ = row
        return self.events[partition + _OTHER * (topic != self.topics[0].name), offset].mark

    def _handle(self, table: TableRef) -> DeltaTable | None:
        return handle_of(self.lake.settings, table)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
