"""Dataset checks: what a feed's author declares of whole tables. Evaluating is for `checks`.

A check is about one key's table at a time; an expectation (`model.expectations`) of single rows.
"""

import re
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from humanfriendly import InvalidTimespan, format_timespan, parse_timespan
from pydantic import AliasChoices, BeforeValidator, Field, PlainSerializer, model_validator

from lake_assets.model.base import Identifier, KeyName, Noun
from lake_assets.model.unique_names import one_of


class Severity(StrEnum):
    """How bad a failure is."""

    WARN = "warn"
    ERROR = "error"


_MONTHS = re.compile(r"\s*[\d.]+\s*M\s*")
"""What others read as months, and we would as minutes."""


_STEP = "write a number and a unit, as 30s, 15m, 1h or 2d"


def _shown(value: object) -> str:
    """What stands there in place of a time span, in words of YAML."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return repr(value)
    kinds = {bool: str(value).lower(), dict: "a mapping", list: "a list", type(None): "nothing"}
    return kinds.get(type(value), "what stands there")


def duration(value: object) -> timedelta:
    """A time span above zero, of `30s`, `15m`, `1h` or `2d`; raises a ValueError for others."""
    seconds = 0.0
    if isinstance(value, str) and _MONTHS.fullmatch(value):
        number = value.strip(" M")
        message = f"{value!r} may be minutes or months\nwrite {number}m, or days"
        raise ValueError(message)
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str) and not value.strip().isdecimal():
        try:
            seconds = parse_timespan(value)
        except InvalidTimespan:
            seconds = 0.0
    if seconds <= 0:
        message = f"{_shown(value)} is no duration\n{_STEP}"
        raise ValueError(message)
    try:
        return timedelta(seconds=seconds)
    except OverflowError as problem:
        message = f"{value!r} is longer than any time\n{_STEP}"
        raise ValueError(message) from problem


Duration = Annotated[
    timedelta,
    BeforeValidator(duration),
    PlainSerializer(lambda found: f"{found.total_seconds():g}s", return_type=str),
]

ColumnName = Annotated[str, Field(min_length=1)]


class RowCount(Noun):
    """Bounds of a table's rows, both included."""

    min: int | None = Field(default=None, ge=0)
    """Fewer rows fail it."""

    max: int | None = Field(default=None, ge=0)
    """More rows fail it."""

    @model_validator(mode="after")
    def _bounds_are_bounds(self) -> Self:
        if self.min is None and self.max is None:
            message = "\ngive min, max or both"
            raise ValueError(message)
        if self.min is not None and self.max is not None and self.min > self.max:
            message = f"min {self.min} is above max {self.max}\nwrite the smaller number as `min`"
            raise ValueError(message)
        return self

    def __str__(self) -> str:
        """As a limit in words: `>= 1 and <= 5`."""
        bounds = ((">=", self.min), ("<=", self.max))
        return " and ".join(f"{sign} {bound}" for sign, bound in bounds if bound is not None)


class Freshness(Noun):
    """How old the newest value of a timestamp column may be."""

    column: ColumnName
    """A timestamp column."""

    max_age: Duration
    """How far its newest value may lie behind the time of the check."""

    def __str__(self) -> str:
        """As a limit in words: `<= 1 hour`."""
        return f"<= {format_timespan(self.max_age)}"


class DatasetCheck(Noun):
    """What checks of any layer have: a name, one thing that is checked, and for which keys."""

    kinds: ClassVar[tuple[str, ...]] = ("unique", "row_count", "freshness")

    name: Identifier
    """Unique among a feed's or a view's expectations and checks."""

    unique: tuple[ColumnName, ...] | None = Field(default=None, min_length=1)
    """Columns that no two rows have the same values of; nulls count as equal."""

    row_count: RowCount | None = None
    """How many rows the table may have."""

    freshness: Freshness | None = None
    """How old the table's newest row may be."""

    keys: tuple[KeyName, ...] | None = Field(
        default=None, min_length=1, validation_alias=AliasChoices("keys", "games")
    )
    """Keys whose tables are checked; all of them if unset."""

    severity: Severity = Severity.ERROR
    """How a failure is reported."""

    @model_validator(mode="after")
    def _checks_one_thing(self) -> Self:
        given = [kind for kind in self.kinds if getattr(self, kind) is not None]
        if len(given) != 1:
            message = f"a check has one of {', '.join(self.kinds)}; {one_of(given)}"
            raise ValueError(message)
        return self

    @property
    def kind(self) -> str:
        """Which of `kinds` it checks."""
        return next(kind for kind in self.kinds if getattr(self, kind) is not None)

    def concerns(self, key: str) -> bool:
        """Whether the table of a key is checked."""
        return self.keys is None or key in self.keys

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it reads."""
        return self.unique or ((self.freshness.column,) if self.freshness else ())


class SilverCheck(DatasetCheck):
    """A check of each key's silver table."""

    blocking: bool = False
    """Whether a key that fails it keeps its gold views as they are until it passes again."""


class GoldCheck(DatasetCheck):
    """A check of each key's table of one gold view."""

    kinds: ClassVar[tuple[str, ...]] = (*DatasetCheck.kinds, "equals_source")

    equals_source: ColumnName | None = None
    """Column whose sum is the number of silver rows that the view stands for."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it reads."""
        return (self.equals_source,) if self.equals_source else super().columns
