"""A schema in Spark's DDL (`time timestamp, tags array<string>`), read without a JVM into nouns.

Only what Delta can store and a payload can have: names and types.
sqlglot is not asked: it takes what it knows of a text and is silent about the rest.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

_TOKEN = re.compile(r"\s*(?:(?P<word>\w+)|`(?P<quoted>[^`]+)`|(?P<mark>\S))")

_ALIASES = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "timestamp_ltz": "timestamp",
}

SCALARS = (
    *("string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double"),
    *("date", "timestamp", "binary"),
)
"""Types without arguments, as Spark SQL names them."""

_TYPES = (*SCALARS, "decimal(p,s)", "array<…>", "map<string,…>", "struct<…>")

DEEPEST = 64
"""Types that may be within each other, as `formats.avro.schema` has it and for its reasons."""

_EXAMPLE = "write columns as 'time timestamp, player string'"

_MOST_DIGITS = 38
"""Of a decimal, in Spark, Delta and Arrow alike."""

_UNFIT = re.compile(r"[ ,;{}()\n\t=#.]")
"""What Parquet and Delta do not take in a column's name, and the mark of our internal columns. Dots
neither: readers with filters and statistics take `a.b` for the field `b` of a struct `a`."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """One of `SCALARS`."""

    name: str


@dataclass(frozen=True, slots=True)
class Decimal:
    """Exact numbers."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class Array:
    """Values of one type in an order."""

    item: "Type"


@dataclass(frozen=True, slots=True)
class Map:
    """Values of one type by text."""

    value: "Type"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named values, each of its own type."""

    columns: "tuple[Column, ...]"


Type: TypeAlias = Scalar | Decimal | Array | Map | Struct


@dataclass(frozen=True, slots=True)
class Column:
    """A name and a type; all columns may be null."""

    name: str
    type: Type


def columns_of_ddl(text: str) -> tuple[Column, ...]:
    """The columns that a text declares.

    Raises:
        ValueError: the text is no such DDL; says what is wrong and what would be right.
    """
    parser = _Parser(text)
    columns = parser.columns()
    if not parser.is_at_end:
        raise parser.complaint("a comma or the end")
    return columns


class _Parser:
    """Reads from left to right; one token ahead is enough."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    @property
    def is_at_end(self) -> bool:
        return self._next == len(self._tokens)

    def columns(self) -> tuple[Column, ...]:
        columns = [self._column()]
        while self._take(","):
            columns.append(self._column())
        names = Counter(column.name.lower() for column in columns)
        twice = [column.name for column in columns if names[column.name.lower()] > 1]
        if twice:
            message = f"{' and '.join(twice)} are one column, since case tells none apart"
            raise ValueError(message)
        return tuple(columns)

    def complaint(self, wanted: str) -> ValueError:
        at = "the end" if self.is_at_end else f"{self._tokens[self._next][1]!r}"
        return ValueError(f"at {at} there should be {wanted}\n{_EXAMPLE}")

    def _column(self) -> Column:
        name = self._word("a column's name", quoted=True)
        if _UNFIT.search(name):
            message = f"{name!r} cannot name a column\nleave out blanks, dots and any of ,;{{}}()=#"
            raise ValueError(message)
        self._take(":")
        return Column(name, self._type())

    def _type(self) -> Type:
        at = self._next
        word = self._word(f"a type, such as {_TYPES[0]}").lower()
        name = _ALIASES.get(word, word)
        match name:
            case "array":
                return Array(self._within(self._type))
            case "map":
                return self._within(self._map)
            case "struct":
                return Struct(self._within(self.columns))
            case "decimal":
                return self._decimal()
            case _ if name in SCALARS:
                return Scalar(name)
        self._next = at
        raise self.complaint(f"a type: one of {', '.join(_TYPES)}")

    def _map(self) -> Map:
        key = self._type()
        if key != Scalar("string"):
            message = "the keys of a map are strings: map<string,…>"
            raise ValueError(message)
        self._need(",")
        return Map(self._type())

    def _decimal(self) -> Decimal:
        precision, scale = 10, 0  # what Spark takes `decimal` for
        if self._take("("):
            precision = self._number()
            scale = self._number() if self._take(",") else 0
            self._need(")")
        if not (1 <= precision <= _MOST_DIGITS and scale <= precision):
            message = (
                f"decimal({precision},{scale}) does not exist: up to {_MOST_DIGITS} digits, "
                "of which some stand behind the point"
            )
            raise ValueError(message)
        return Decimal(precision, scale)

    def _number(self) -> int:
        word = self._word("a number")
        if not word.isdecimal():
            self._next -= 1
            raise self.complaint("a number")
        return int(word)

    def _within(self, read: Callable[[], _T]) -> _T:
        self._need("<")
        self._depth += 1
        if self._depth > DEEPEST:
            message = f"is nested too deep: at most {DEEPEST} types may be in each other"
            raise ValueError(message)
        inner = read()
        self._depth -= 1
        self._need(">")
        return inner

    def _word(self, wanted: str, *, quoted: bool = False) -> str:
        kinds = {"word", "quoted"} if quoted else {"word"}
        if self.is_at_end or self._tokens[self._next][0] not in kinds:
            raise self.complaint(wanted)
        self._next += 1
        return self._tokens[self._next - 1][1]

    def _take(self, mark: str) -> bool:
        is_there = not self.is_at_end and self._tokens[self._next] == ("mark", mark)
        self._next += is_there
        return is_there

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise self.complaint(repr(mark))


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text.rstrip()):
        kind = match.lastgroup or "mark"
        yield kind, match[kind]
