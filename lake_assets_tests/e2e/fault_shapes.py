"""What the feeds of random sequences declare, each shape otherwise, and the events that they get.

What has to become of the events is in `fault_model`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.payload import Payload
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.routes import Route, TableColumns
from lake_assets.model.transforms import Mask
from lake_assets_tests.e2e import transforms
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.protobuf.given import framed, message_of

GAMES = ("uno", "go_fish", "chess", "rummy", "poker")
"""Of which events may be; where each has a message type of its own, that is called as the game."""

_IMPORT = 'import "google/protobuf/timestamp.proto";'

_HEADER = "game"

_KINDS = ("string", "int64", "bool")
"""Of the fields that come later, by the number of the version that brings them."""

_EVENT = "event"
"""The message type of all events that are not of their game's."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """Of a feed's schemas, which change together."""

    number: int
    texts: tuple[str, ...]
    """The messages', by subject."""

    schema_ids: tuple[int, ...]
    envelope: str
    envelope_id: int
    column: str
    """What the field that is renamed now and then is called."""

    more: Mapping[str, tuple[int, ...]]
    """By message type, the versions that brought it a field."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a feed does with its events, of those things that go together."""

    subjects: int = 1
    """Under which the messages are registered."""

    wraps: bool = False
    """Events are envelopes, whose schema changes as well, and whose bytes are the messages."""

    own: bool = False
    """Each game has a message type of its own, which routes, and tables have its columns."""

    selects: bool = False
    """The first two games have selects of their own, and the first hides a column."""

    explodes: bool = False
    """An event becomes one to three rows."""

    transforms: bool = False
    """A function of Python makes a column more, and refuses some events."""

    by_header: bool = False
    by_spark: bool = False
    """Spark alone computes what is selected; else tasks do."""

    sends_again: bool = False
    """The producer does, and the feed deduplicates."""

    delivers: bool = False
    """A sink sends its rows to an API."""

    def subjects_of(self, topics: Sequence[Topic]) -> list[Topic]:
        """Topics whose subjects the messages are registered under; of bodies nothing is sent."""
        if self.wraps:
            return [Topic(topics[0].endpoints) for _ in range(self.subjects)]
        return [*topics[: self.subjects]]

    def types_of(self, subject: int) -> tuple[str, ...]:
        """The message types of a subject, in their order."""
        return GAMES[subject :: self.subjects] if self.own else (_EVENT,)

    def more_with(self, number: int, before: Mapping[str, tuple[int, ...]]) -> dict[str, tuple]:
        """Which fields message types have in a version, after what they had."""
        types = GAMES if self.own else (_EVENT,)
        # Some of each subject's: what is not a new text is no new version.
        gains = [name for at, name in enumerate(types) if not self.own or (at // 2 + number) % 2]
        has = {name: before.get(name, ()) for name in types}
        return {n: (*has[n], number) if number and n in gains else has[n] for n in types}

    def text(self, subject: int, column: str, more: Mapping[str, tuple[int, ...]]) -> str:
        """The schema of a subject's messages."""
        named = (
            f"string game_name = 1; string gamer_id = 2; string device_id = 4; string {column} = 9;"
        )
        named += " google.protobuf.Timestamp happened = 5;"
        named += "" if self.wraps else " string event_id = 8;"
        named += " repeated string parts = 6;" if self.explodes else ""
        messages = (
            f"message {name} {{ {named}{''.join(map(_declared, more[name]))} }}"
            for name in self.types_of(subject)
        )
        return f"{_IMPORT} {' '.join(messages)}"

    def envelope(self, number: int, column: str) -> str:
        """The schema of envelopes, one of whose fields is renamed as one of the messages is."""
        wide = "".join(f" string wide_{one} = {one + 9};" for one in range(1, number + 1))
        named = f"string {tenant_of(column)} = 1; bytes body = 2; string event_id = 8;"
        return f"message envelope {{ {named}{wide} }}"

    def declared(
        self, topics: Sequence[Topic], subjects: Sequence[Topic], keys: Sequence[str]
    ) -> dict[str, object]:
        """What the feed declares beside its source."""
        parts = ("* except (parts)", "explode(parts) as part") if self.explodes else ("*",)
        whose = "md5(gamer_id)" if self.by_spark else "concat(gamer_id, '!')"
        found: dict[str, object] = {
            "payload": self._payload(topics, subjects),
            "route": self._route(keys),
            "select": (*parts, f"{whose} as whose"),
            "transform": None,
        }
        if self.transforms:
            found["transform"] = f"{transforms.__name__}:{transforms.greet.__name__}"
        if self.sends_again:
            found["deduplicate"] = Deduplicate(key=("event_id",), within=timedelta(hours=1))
        return found

    def of_keys(self, keys: Sequence[str]) -> dict[str, object]:
        """What the feed declares of all its games, one of which may come later."""
        if not self.selects:
            return {}
        title = ("initcap(gamer_id) as title",) if self.by_spark else ()
        return {
            "selects": {
                keys[0]: ("*", "concat(gamer_id, '#', device_id) as spot", *title),
                keys[1]: ("* except (device_id)", "upper(gamer_id) as loud"),
            },
            "masks": {keys[0]: {"gamer_id": Mask.REDACT}},
        }

    def _payload(self, topics: Sequence[Topic], subjects: Sequence[Topic]) -> Payload:
        names = [one.subject for one in subjects]
        messages = {"subjects": names} if len(names) > 1 else {"subject": names[0]}
        if not self.wraps:
            return Payload(protobuf=ProtobufPayload.model_validate(messages))
        wrapped = {"column": "body", "protobuf": messages}
        envelope = {"subject": topics[0].subject}
        return Payload.model_validate({"protobuf": envelope, "wrapped": wrapped})

    def _route(self, keys: Sequence[str]) -> Route:
        if self.own:
            return Route(message=True, keys=keys)
        if self.by_header:
            aliases = {key.upper(): key for key in keys}
            return Route(header=_HEADER, keys=keys, aliases=aliases)
        return Route(column="game_name", keys=keys)

    def headers_of(self, key: str) -> list[tuple[str, bytes]]:
        """Of an event; the last one of a name counts."""
        return [(_HEADER, b"?"), (_HEADER, key.upper().encode())]

    def value_of(
        self, mark: str, game: str, gamer: str, device: str, at: datetime, version: Version
    ) -> bytes:
        """An event as it is sent."""
        subject, index, name = self._message_of(mark, game)
        own = {"game_name": game, "gamer_id": gamer, "device_id": device, "happened": at}
        if not self.wraps:
            own["event_id"] = mark
        if self.explodes:
            own["parts"] = [f"p{number}" for number in range(self.rows_of(mark))]
        more = {f"more_{one}": _value(one) for one in version.more[name]}
        message = message_of(version.texts[subject], name, **own, **more, **{version.column: mark})
        path = bytes([2, 2 * index]) if index else b"\0"
        value = framed(version.schema_ids[subject], message, path)
        return self.wrapped(value, mark, version) if self.wraps else value

    def _message_of(self, mark: str, game: str) -> tuple[int, int, str]:
        """Its subject, its place there, and its name."""
        if not self.own:
            return number_of(mark) % self.subjects, 0, _EVENT
        at = GAMES.index(game)
        return at % self.subjects, at // self.subjects, game

    def wrapped(self, body: bytes, mark: str, version: Version) -> bytes:
        """An envelope."""
        wide = {f"wide_{one}": f"w{one}" for one in range(1, version.number + 1)}
        own = {"event_id": mark, tenant_of(version.column): f"t{mark}"}
        message = message_of(version.envelope, "envelope", **own, **wide)
        message.body = body  # type: ignore[attr-defined]
        return framed(version.envelope_id, message)

    def told_of(self, mark: str, game: str, version: Version) -> str:
        """What a row of an event is to say of itself, as `in_sql` has it."""
        name = self._message_of(mark, game)[2]
        more = [str(_value(one)).lower() for one in version.more[name]]
        wide = [f"w{one}" for one in range(1, version.number + 1)] if self.wraps else []
        return "|".join([mark, *more, *wide])

    def in_sql(self, columns: Sequence[str], column: str, at: int) -> str:
        """What a row says of itself, or `wrong` where something computed of it is, in SQL.

        Args:
            columns: of the table.
            column: the one with marks.
            at: the place of the table's game among the feed's.
        """
        if column not in columns:
            return "null"
        who = f"concat('g', \"{column}\")"
        right = [f"whose = md5({who})" if self.by_spark else f"whose = concat({who}, '!')"]
        is_first, is_second = (self.selects and at == place for place in (0, 1))
        right.append("gamer_id = '***'" if is_first else f"gamer_id = {who}")
        if is_first:
            right.append(f"spot = concat({who}, '#', device_id)")
        if is_first and self.by_spark:
            right.append(f"title = concat('G', \"{column}\")")
        if is_second:
            right.append(f"loud = upper({who})")
        if self.transforms:
            right.append(f"greeting = concat('hello ', {who})")
        if self.explodes:
            right.append("part = 'p' || _element")
        if self.wraps:
            right.append(f'"{tenant_of(column)}" = \'t\' || "{column}"')
        more = sorted(name for name in columns if name.startswith(("more_", "wide_")))
        told = ", ".join(f'cast("{name}" as varchar)' for name in (column, *more))
        return f"case when {' and '.join(right)} then concat_ws('|', {told}) else 'wrong' end"

    def foreign(
        self, columns: Sequence[str], key: str, at: int, versions: Sequence[Version]
    ) -> set[str]:
        """Columns of a game's table that no message and no select of it makes."""
        found = set()
        if self.own:
            more = {one for version in versions for one in version.more[key]}
            names = {name for name in columns if name.startswith("more_")}
            found |= names - {f"more_{one}" for one in more}
        if self.selects:
            made = {"spot": 0, "title": 0, "loud": 1}
            found |= {name for name in columns if made.get(name, at) != at}
        return found

    def rows_of(self, mark: str) -> int:
        """How many rows an event becomes."""
        return number_of(mark) % 3 + 1 if self.explodes else 1

    @property
    def columns(self) -> TableColumns:
        return TableColumns.OWN if self.own else TableColumns.SHARED


def tenant_of(column: str) -> str:
    """The field of the envelope that is renamed as the one for marks is."""
    return column.replace("mark", "tenant")


def number_of(mark: str) -> int:
    return int(mark[1:])


def _declared(number: int) -> str:
    return f" {_KINDS[number % len(_KINDS)]} more_{number} = {number + 9};"


def _value(number: int) -> object:
    return {"string": f"s{number}", "int64": 2**40 + number, "bool": True}[_KINDS[number % 3]]


SHAPES = {
    "games": (
        Shape(explodes=True, transforms=True, delivers=True),
        Shape(wraps=True, selects=True, transforms=True),
        Shape(own=True, subjects=2),
        Shape(wraps=True, explodes=True, by_spark=True, subjects=2, delivers=True),
    ),
    "cards": (
        Shape(subjects=2, by_header=True, by_spark=True, sends_again=True),
        Shape(own=True, subjects=2, wraps=True, sends_again=True, delivers=True),
        Shape(selects=True, subjects=2, by_header=True, by_spark=True, sends_again=True),
        Shape(own=True, by_spark=True, delivers=True),
        Shape(wraps=True, selects=True, by_header=True, delivers=True),
    ),
}
"""By feed, its shapes in turn: the first few sequences have each thing, longer runs the pairs."""
