"""Feeds: what a user declares in YAML, as frozen nouns. `feeds.load` reads the files."""

import re
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from lake_assets.model.tables import is_game_name

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")


def _identifier(value: str) -> str:
    if _IDENTIFIER.fullmatch(value) is None:
        message = (
            f"{value!r} is not a name: use lower-case letters, digits and _, a letter first, "
            "at most 63"
        )
        raise ValueError(message)
    return value


def _game(value: str) -> str:
    if not is_game_name(value):
        message = f"{value!r} cannot name a table: use 1 to 64 lower-case letters, digits and _"
        raise ValueError(message)
    return value


Identifier = Annotated[str, AfterValidator(_identifier)]
GameName = Annotated[str, AfterValidator(_game)]


class _Noun(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KafkaSource(_Noun):
    """A topic, and where a new lake starts to read it; later it goes on where it was."""

    topic: str = Field(min_length=1)
    starting_offsets: Literal["earliest", "latest"] | dict[int, int] = "earliest"
    """The first or last offsets, or one for each partition: `{0: 1200, 1: 1150}`."""


class Source(_Noun):
    """Where a feed's rows come from."""

    kafka: KafkaSource


class ProtobufPayload(_Noun):
    """Confluent-framed protobuf whose schemas are registered under `subject`."""

    subject: str = Field(min_length=1)
    message: str | None = Field(default=None, min_length=1)
    """Full name of the one message type that is taken (`pkg.Event`); others are quarantined. Unset,
    rows of all message types of the schemas are taken."""


class Payload(_Noun):
    """How a feed's values are encoded."""

    protobuf: ProtobufPayload


class Unknown(StrEnum):
    """What becomes of a row whose game is not among the route's keys."""

    QUARANTINE = "quarantine"  # kept in the quarantine table until the key is declared
    CREATE = "create"  # the game gets its tables with its first row


class Route(_Noun):
    """Which decoded column names the game, and which games have tables."""

    column: Identifier
    keys: tuple[GameName, ...] = ()
    unknown: Unknown = Unknown.QUARANTINE

    @model_validator(mode="after")
    def _keys_are_unique_and_present(self) -> Self:
        twice = sorted({key for key in self.keys if self.keys.count(key) > 1})
        if twice:
            message = f"keys are given twice: {', '.join(twice)}"
            raise ValueError(message)
        if not self.keys and self.unknown is Unknown.QUARANTINE:
            message = "no keys and `unknown: quarantine` would quarantine everything"
            raise ValueError(message)
        return self


class Action(StrEnum):
    """What becomes of a row that violates an expectation."""

    WARN = "warn"  # kept and counted
    DROP = "drop"  # dropped and counted
    QUARANTINE = "quarantine"  # to the quarantine table, with the expectation's name
    FAIL = "fail"  # the stream stops before anything of the row's batch is committed


class Expectation(_Noun):
    """A named Spark SQL condition over decoded columns; null counts as violated."""

    name: Identifier
    sql: str = Field(min_length=1)
    action: Action = Action.WARN
    games: tuple[GameName, ...] | None = Field(default=None, min_length=1)
    """Games whose rows are judged; all of them if unset."""

    def concerns(self, game: str) -> bool:
        """Whether the rows of a game are judged."""
        return self.games is None or game in self.games


class GoldView(_Noun):
    """A materialized view per game: one row for each combination of `keys`."""

    name: Identifier
    keys: tuple[Identifier, ...] = Field(min_length=1)
    measures: dict[Identifier, str] = Field(min_length=1)
    """Column name to Spark SQL aggregate over silver's columns."""

    schedule: str | None = None
    """Cron expression of the refresh; unset, the view is refreshed by hand."""

    @model_validator(mode="after")
    def _columns_are_unique(self) -> Self:
        both = sorted(set(self.keys) & set(self.measures))
        if both:
            message = f"named as key and as measure: {', '.join(both)}"
            raise ValueError(message)
        return self


class Reset(StrEnum):
    """Whether a command may drop a feed's bronze table."""

    PROTECTED = "protected"  # no: Kafka may have forgotten what is in it
    ALLOWED = "allowed"


class Feed(_Noun):
    """One declared stream, from its source to its gold views."""

    feed: Identifier
    source: Source
    payload: Payload
    route: Route
    expectations: tuple[Expectation, ...] = ()
    gold: tuple[GoldView, ...] = ()
    reset: Reset = Reset.PROTECTED

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for kind, names in (
            ("expectations", [e.name for e in self.expectations]),
            ("gold", [v.name for v in self.gold]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                message = f"two {kind} are called {', '.join(twice)}"
                raise ValueError(message)
        return self
