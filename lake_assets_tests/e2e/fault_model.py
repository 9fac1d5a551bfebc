"""What a feed's tables are to hold after each step of a random sequence, and what they do hold.

What the steps do to the lake is in `test_random_faults`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Self

import duckdb
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.data_files import active_files
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import Payload, ProtobufPayload
from lake_assets.model.routes import Route
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of
from lake_assets_tests.e2e import transforms
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of
from lake_assets_tests.sample import silver_of
from lake_assets_tests.streams.lakes import StreamedLake

Place = tuple[int, int]
"""A partition and an offset; of the second topic, as `_OTHER`."""

_OTHER = 100
"""By so much a partition of the second topic counts as more: each offset is in both topics."""

Rows = Counter[tuple[str, int, int, object]]
"""Table, partition, offset and a value of each row, and how often it is there."""

DELETED = "deleted"

_MARKS = count()

_IMPORT = 'import "google/protobuf/timestamp.proto";'

_DEVICES = ("d1", "d/2 %41", "")
"""What partitions some tables: no folder's name among them, and what a log takes for null."""

LAYOUTS = ("none", "device", "day", "device and day", "mark")

_LAYOUT_OF = {
    "none": {},
    "device": {"device_id": "device_id"},
    "day": {"day": "date(happened)"},
    "device and day": {"device_id": "device_id", "day": "date(happened)"},
}


_WHOSE = {"games": "concat(gamer_id, '!')", "cards": "md5(gamer_id)"}
"""By feed, a column that is computed: in tasks, and by Spark. DuckDB computes both alike."""

_OF_SUBJECTS = "cards"
"""The feed whose events are of two subjects, which change together."""

_EXPLODING = "games"
"""The feed whose events become one to three rows each."""

_IS_PART = "part = 'p' || _element"
"""What holds of the rows of its elements."""


_BY_HEADER, _HEADER = "cards", "game"
"""The feed whose rows are routed by a header, in capitals; the other's are by a column."""

_FUNCTION = {"games": f"{transforms.__name__}:{transforms.greet.__name__}"}
"""By feed, the function that makes a column more, and refuses some rows."""

_IS_RIGHT = {
    name: " and ".join([f"whose = {whose}", *([transforms.IS_RIGHT] if name in _FUNCTION else [])])
    for name, whose in _WHOSE.items()
}
"""By feed, whether what was computed of a row is as it should be."""


@dataclass(frozen=True)
class Version:
    """Of a feed's schema."""

    schema_ids: tuple[int, ...]
    """Its id under each of the feed's subjects."""

    text: str
    column: str
    """What the field that is renamed now and then is called."""


@dataclass(frozen=True)
class Event:
    """What was sent."""

    key: str
    """Empty of one that cannot be decoded, or that the feed's function refuses."""

    mark: str
    """The value of the field that is renamed now and then; no two events have the same."""

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

    is_torn: bool = False
    """One of its tables is of another time than the others."""

    is_cut_off: bool = False
    """A batch was killed, so events of it that are not placed may be in tables already."""

    def copy(self) -> Self:
        own = {"placed": dict(self.placed), "gone": set(self.gone)}
        return replace(self, **own, retained=dict(self.retained))


class Part:
    """A feed of the lake: its topics, what was sent there, and its model.

    With the second version of its schema a second topic comes, which it reads beside the first.
    The producer of cards sends events again, and its feed deduplicates: which of an event's places
    its row has is not told, but that it has one.
    """

    def __init__(self, name: str, keys: tuple[str, ...], lake: StreamedLake) -> None:
        """The last of the games is declared later, and its rows are quarantined until then."""
        self.name, self.keys, self.lake = name, keys, lake
        self.sends_again = name == "cards"
        self.bronze, self.quarantine = bronze_of(name), quarantine_of(name)
        self.versions: list[Version] = []
        self.topics = (lake.topic, Topic(lake.topic.endpoints))
        self.events: dict[Place, Event] = {}
        self.model = Model(frozenset(keys[:-1]))
        self.has_aged = False
        self.register(renames=False)

    @property
    def feed(self) -> Feed:
        keys = tuple(sorted(self.model.keys))
        route = Route(column="game_name", keys=keys)
        if self.name == _BY_HEADER:
            route = Route(header=_HEADER, keys=keys, aliases={key.upper(): key for key in keys})
        layout = dict(self.model.layout)
        parts = ("* except (parts)", "explode(parts) as part") if self.explodes else ("*",)
        select = (*parts, f"{_WHOSE[self.name]} as whose")
        own = {"feed": self.name, "route": route, "partition_by": layout, "select": select}
        own["transform"] = _FUNCTION.get(self.name)
        if self.sends_again:
            own["deduplicate"] = Deduplicate(key=("event_id",), within=timedelta(hours=1))
        if self.has_subjects:
            names = [topic.subject for topic in self.topics]
            own["payload"] = Payload(protobuf=ProtobufPayload(subjects=names))
        if len(self.versions) > 1:
            names = [topic.name for topic in self.topics]
            own["source"] = Source(kafka=KafkaSource(topics=names))
        return self.lake.topic.feed(**own)

    @property
    def has_subjects(self) -> bool:
        """Whether events are of two subjects in turn, whichever topic they are in."""
        return self.name == _OF_SUBJECTS

    @property
    def explodes(self) -> bool:
        """Whether an event becomes several rows."""
        return self.name == _EXPLODING

    @property
    def waiting(self) -> set[Place]:
        """Events that the streams are still to take."""
        return self.events.keys() - self.model.placed.keys()

    def register(self, *, renames: bool) -> None:
        """Register a version with one more field, or with another name of the one for marks."""
        number, last = len(self.versions), self.versions[-1:]
        column = f"mark_{number}" if renames or not last else last[0].column
        more = "".join(f" string more_{one} = {one + 9};" for one in range(1, number + 1))
        named = f"string gamer_id = 2; string device_id = 4; string {column} = 9;"
        named += " google.protobuf.Timestamp happened = 5; string event_id = 8;"
        named += " repeated string parts = 6;" if self.explodes else ""
        text = f"{_IMPORT} message event {{ string game_name = 1; {named}{more} }}"
        subjects = self.topics if self.has_subjects else self.topics[:1]
        ids = tuple(topic.register_text(text) for topic in subjects)
        self.versions.append(Version(ids, text, column))

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
            # The last one counts.
            headers = [[(_HEADER, b"?"), (_HEADER, event.key.upper().encode())] for event in share]
            found = topic.produce(*(event.value for event in share), at=at, headers=headers)
            places = [(partition + number * _OTHER, offset) for partition, offset in found]
            self.events |= dict(zip(places, share, strict=True))

    def _event(self, key: str, version: Version, at: datetime) -> Event:
        mark = f"m{next(_MARKS)}"
        device = _DEVICES[int(mark[1:]) % len(_DEVICES)]
        is_refused = not key and self.name in _FUNCTION and int(mark[1:]) % 2 == 0
        gamer = transforms.NOBODY if is_refused else "ann"
        game = (key or self.keys[0]) if is_refused else key
        own = {"game_name": game, "gamer_id": gamer, "device_id": device, "happened": at}
        own["event_id"] = mark
        if self.explodes:
            own["parts"] = [f"p{number}" for number in range(_parts(mark))]
        message = message_of(version.text, **own, **{version.column: mark})
        value = framed(version.schema_ids[int(mark[1:]) % len(version.schema_ids)], message)
        return Event(key, mark, value if key or is_refused else mark.encode(), at)

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
            folder = self._folder(silver_of(key))
            if not DeltaTable.is_deltatable(str(folder)):
                continue
            handle = DeltaTable(folder)
            if handle.metadata().partition_columns != names:
                return False
            for file in active_files(handle):
                if not file.has_all_columns or not names:
                    continue
                rows = pq.read_table(folder / file.path, columns=names, partitioning=None)
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
        key = self.events[place].key
        return key if key in self.model.keys else self.quarantine.name

    def came(self) -> dict[Place, datetime]:
        """When each row of bronze came there, as bronze has it."""
        names = ["topic", "partition", "offset", "ingested_at"]
        rows = DeltaTable(self.lake.folder(self.bronze)).to_pyarrow_table(columns=names)
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
                found += self._rows_of(db, table.name, self._folder(table), "", "value", "")
            for key in self.keys:
                folder, is_right = self._folder(silver_of(key)), _IS_RIGHT[self.name]
                is_right += f" and {_IS_PART}" if self.explodes else ""
                found += self._rows_of(db, key, folder, "_", self.model.column, is_right)
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
                many = _parts(event.mark) if self.explodes and not is_refused else 1
                found[table, *place, event.value if is_refused else event.mark] += many
        return found

    def _rows_of(
        self,
        db: duckdb.DuckDBPyConnection,
        name: str,
        folder: Path,
        prefix: str,
        column: str,
        is_right: str,
    ) -> Rows:
        if not DeltaTable.is_deltatable(str(folder)):
            return Counter()
        rows = db.from_arrow(DeltaTable(folder).to_pyarrow_dataset())
        value = f'"{column}"' if column in rows.columns else "null"
        if is_right:
            # Rows whose computed column is wrong count as others, by their value.
            value = f"case when {is_right} then {value} else 'wrong' end"
        more = f"if({prefix}topic = '{self.topics[1].name}', {_OTHER}, 0)"
        columns = f'"{prefix}partition" + {more}, "{prefix}offset", {value}'
        return Counter((name, *row) for row in rows.project(columns).fetchall())

    def _folder(self, table: TableRef) -> Path:
        return self.lake.folder(table)


def _parts(mark: str) -> int:
    """How many rows an event with this mark becomes where it becomes several."""
    return int(mark[1:]) % 3 + 1


def _text(value: object) -> str | None:
    return None if value is None else str(value)
