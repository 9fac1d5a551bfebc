"""Sinks of a feed: where rows of its tables go to, and how they are shaped for it."""

import re
from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from lake_assets.model.base import Identifier, Noun
from lake_assets.model.kafka_sink import KafkaSink
from lake_assets.model.python_sink import PythonSink
from lake_assets.model.rest import Rest
from lake_assets.model.retention import Keep
from lake_assets.model.sources import ORIGIN_NAMES, Source
from lake_assets.model.sql_sink import SqlSink
from lake_assets.model.transforms import ELEMENT
from lake_assets.model.unique_names import one_of, refuse_twins

KINDS = ("rest", "sql", "kafka", "python")
"""Fields of a sink that say what it is; one of them is given."""

_SOURCE = re.compile(r"bronze|silver|gold\.(?P<view>[a-z][a-z0-9_]{0,62})")

CHANGE = "_change_type"
"""Column of a view's rows, which says what became of one: `upsert`, or `delete`."""

UNSENT = frozenset({*ORIGIN_NAMES, ELEMENT})
"""Columns of tables that say where a row came from: no fields of what is sent without `select`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")


def _readable_source(value: str) -> str:
    if _SOURCE.fullmatch(value) is None:
        message = f"{value!r} is neither `silver` nor a view, as `gold.player_agg`, nor `bronze`"
        raise ValueError(message)
    return value


def _shape(fields: dict[str, str]) -> dict[str, str]:
    if not fields:
        message = "names no field\nleave it out to send all of a row's columns"
        raise ValueError(message)
    wrong = next((name for name in fields if not _NAME.fullmatch(name)), None)
    if wrong is not None:
        message = f"{wrong!r} is no name of a field\nuse letters, digits, _, - and ."
        raise ValueError(message)
    return fields


class Sink(Noun):
    """One place that rows of a feed's tables are sent to, as they come."""

    name: Identifier
    """Unique among the feed's sinks; part of the name of the table of its deliveries."""

    source: Annotated[str, AfterValidator(_readable_source), Field(alias="from")]
    """`silver`: the rows of all keys' tables. `gold.<view>`: the rows of one of the feed's views,
    all at first, then those that are new or have other values, each time that it is refreshed.
    `bronze`, of feeds with `silver: none`: the source's rows, decoded; one that cannot be is a dead
    letter."""

    key: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Of `gold.<view>`: columns by which a row of the view is told from the others, in each of its
    tables. Unset, the view's own keys; a view of `sql` has none, and its whole rows are told
    apart."""

    deletes: bool = False
    """Of `gold.<view>`: whether it is told of rows that are gone, or that `where` wants no more. A
    table of a database deletes them, a topic gets a message without a value; others get the row as
    it was, with `_change_type` (`upsert` or `delete`), which `select` has to name."""

    where: str | None = Field(default=None, min_length=1)
    """An SQL condition over a row of the table; rows for which it is false or null are not sent."""

    select: Annotated[dict[str, str], AfterValidator(_shape)] | None = None
    """The fields that are sent, by name, each an SQL expression over a row: `{player: gamer_id,
    at: event_timestamp}`. Each row gives the same whenever it is sent. Unset, all columns of the
    row but those that say where it came from."""

    retention: Keep | None = None
    """Age after which what is known of a delivery may go (`90d`), and a dead letter; unset, they
    stay for ever. A row that is written to silver once more after that (`rebuild`, `RESTORE`, a
    file that others rewrite) is sent once more."""

    rest: Rest | None = None
    """An HTTP API that the rows are POSTed to."""

    sql: SqlSink | None = None
    """A table of a database that the rows are written to."""

    kafka: KafkaSink | None = None
    """A Kafka topic that the rows are produced to."""

    python: PythonSink | None = None
    """A class of your own that gets the rows."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        given = [name for name in KINDS if getattr(self, name) is not None]
        if len(given) != 1:
            message = f"a sink has one of {', '.join(KINDS)}; {one_of(given)}"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _has_its_fields(self) -> Self:
        if self.select is None:
            return self
        if self.kafka is not None and self.kafka.key not in {None, *self.select}:
            message = f"kafka: {self.kafka.key} is none of the fields that `select` names"
            raise ValueError(message)
        if self.sql is None:
            return self
        wrong = next((name for name in self.sql.fields if name not in self.select), None)
        if wrong is not None:
            message = f"sql: {wrong} is none of the fields that `select` names"
            raise ValueError(message)
        if self.sql.origin in self.select:
            message = f"sql: origin: {self.sql.origin} is a field of the row already"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _has_what_a_view_brings(self) -> Self:
        if self.view is None and (self.key or self.deletes):
            name = "key" if self.key else "deletes"
            message = f"{name}: is of sinks of views, `from: gold.<view>`"
            raise ValueError(message)
        refuse_twins("key", list(self.key))
        if self.deletes:
            ensure_deletes_are_told(self)
        return self

    @property
    def view(self) -> str | None:
        """The view whose rows are sent; None if silver's or bronze's are."""
        match = _SOURCE.fullmatch(self.source)
        return match["view"] if match else None

    @property
    def is_of_bronze(self) -> bool:
        """Whether the source's rows are sent, decoded on the way."""
        return self.source == "bronze"

    @property
    def kind(self) -> str:
        """Which of `KINDS` it is."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def needs_broker(self) -> bool:
        """Whether it uses the lake's own brokers."""
        return self.kafka is not None and self.kafka.bootstrap_servers is None

    @property
    def needs_registry(self) -> bool:
        """Whether what it sends has a schema in the lake's registry."""
        return self.kafka is not None and self.kafka.value == "protobuf"

    @property
    def place(self) -> str:
        """Where rows go, in words that name it; without secrets."""
        if self.sql is not None:
            return f"table {self.sql.table} of {self.sql.url}"
        if self.kafka is not None:
            return f"topic {self.kafka.topic} of {self.kafka.bootstrap_servers or 'the lake'}"
        if self.python is not None:
            return self.python.class_name
        return self.rest.url if self.rest else ""


def refuse_loops(sinks: Sequence[Sink], source: Source) -> None:
    """Make sure that no sink fills what its own feed reads.

    Raises:
        ValueError: one does.
    """
    for sink in sinks:
        if sink.kafka is not None and source.kafka is not None:
            topic = sink.kafka.topic
            if sink.kafka.bootstrap_servers is None and source.kafka.reads(topic):
                fact = f"the feed reads topic {topic}: its rows would come back"
                message = f"sink {sink.name}: {fact}\nname another topic"
                raise ValueError(message)


def ensure_deletes_are_told(sink: Sink) -> None:
    """Make sure that who gets rows of a view can be told of those that are gone.

    Raises:
        ValueError: it cannot.
    """
    message = ""
    if sink.sql is not None:
        if not sink.sql.key:
            message = "deletes: sql needs a `key`, by which rows are deleted"
        elif sink.sql.version is not None:
            message = "deletes: sql: what is newer, the view's versions say\nleave `version` out"
    elif sink.kafka is not None:
        if sink.kafka.key is None:
            message = "deletes: kafka needs a `key`, of whose message the value is left out"
    elif sink.select is not None and not any(CHANGE in sql for sql in sink.select.values()):
        message = f"deletes: `select` names no {CHANGE}: rows that are gone would look like others"
    if message:
        raise ValueError(message)
