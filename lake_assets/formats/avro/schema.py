"""An Avro schema as nouns, references inlined: what is on the wire, and what it is called. Pure.

Only what has columns is taken: a record that does not contain itself. What its fields are called in
other versions is `naming`'s business, and what becomes of a type in Arrow that of `columns`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from lake_assets.errors import SchemaUnusableError

PRIMITIVES = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string"},
)

OWN = "="
"""In place of a member's name: the column of the plain type itself."""

MOST_TYPES = 5_000
"""Types that a schema may have with its references inlined. Named types that use each other twice
double with each of them, so a few lines of text could else take all memory."""

DEEPEST = 64
"""Types that may be within each other. What reads values goes as deep as they do, and Python ends a
few times further down; people nest five or six."""

MOST_DIGITS = 38
"""Of a decimal; Spark, Delta and Arrow's 128 bits end there."""

_LOGICAL = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "local-timestamp-nanos": "long",
}
"""What the base of a logical type must be; beside those that may be of two kinds."""

_UUID_BYTES, _DURATION_BYTES = 16, 12

_NEXT_STEP = "Register a corrected version"


@dataclass(frozen=True, kw_only=True, slots=True)
class Type:
    """A type of a schema, with all that is nested in it."""

    kind: str
    """A primitive's name, or `fixed`, `enum`, `array`, `map`, `union`, `record`; `only` is a type
    that becomes a member of a struct as a union's branch would, without being one in the bytes."""

    logical: str = ""
    """The logical type, if it is known and of the right kind; others are their base type."""

    name: str = ""
    """Full name of a record, an enum or a fixed type."""

    aliases: tuple[str, ...] = ()
    """Older names of it, without namespaces."""

    size: int = 0
    """Bytes of a fixed type."""

    precision: int = 0
    scale: int = 0
    symbols: tuple[str, ...] = ()

    inner: tuple["Type", ...] = ()
    """Of an array its items, of a map its values, of a union its branches."""

    members: tuple[str, ...] = ()
    """Of a union of several types: the struct's field for each branch, empty for null."""

    beside: bool = False
    """Whether `members` name what stands beside a column, and `OWN` what is in it."""

    skipped: tuple[int, ...] = ()
    """Branches that are passed over, as if they were null; of another type any says so of it."""

    extras: tuple[tuple[str, "Type"], ...] = ()
    """What else is read of the same bytes: what its column's name has more, and what of them."""

    fields: tuple["Field", ...] = ()

    fills: tuple["Fill", ...] = ()
    """Columns of a record that only its readers know, with a default."""

    @property
    def branches(self) -> tuple["Type", ...]:
        """Of a union, those that are not null."""
        return tuple(one for one in self.inner if one.kind != "null")

    def parts(self, name: str) -> "list[tuple[str, Type]]":
        """The columns that a value makes: the one of this name, and those beside it."""
        return [(name, self), *((f"{name}{more}", one) for more, one in self.extras)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A field of a record."""

    name: str
    type: Type
    aliases: tuple[str, ...] = ()

    default: str | None = None
    """As JSON text; None if it has none."""

    column: str = ""
    """Name of the column, or of the struct's field, that has its values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fill:
    """What a column has in the rows of writers that do not know it."""

    column: str
    type: Type
    default: str
    """As JSON text."""


@lru_cache(maxsize=256)
def parse(compiled: bytes) -> Type:
    """The record that a compiled schema is.

    Args:
        compiled: as `compile.compile_schema` gives it.

    Raises:
        SchemaUnusableError: it makes no columns.
    """
    whole = json.loads(compiled)
    root = _Parsing(whole["types"]).type_of(whole["root"], "the schema")
    if root.kind != "record":
        raise _unusable(f"is of type {root.kind} and not a record, so it names no columns")
    return root


def _unusable(fact: str) -> SchemaUnusableError:
    return SchemaUnusableError("schema", fact, _NEXT_STEP)


@dataclass(slots=True)
class _Parsing:
    types: Mapping[str, Any]
    """Named types, by full name."""

    open: list[str] = field(default_factory=list)
    """Records that are being looked into."""

    count: int = 0
    depth: int = 0

    def type_of(self, found: Any, place: str) -> Type:  # noqa: ANN401 - JSON
        """A type by its JSON, all names full."""
        self.count += 1
        if self.count > MOST_TYPES:
            raise _unusable(f"has more than {MOST_TYPES} types, with its references inlined")
        if self.depth > DEEPEST:
            raise _unusable(f"has at {place} more than {DEEPEST} types within each other")
        self.depth += 1
        made = self._any(found, place)
        self.depth -= 1
        return made

    def _any(self, found: Any, place: str) -> Type:  # noqa: ANN401
        if isinstance(found, list):
            return self._union(found, place)
        if isinstance(found, str):
            is_primitive = found in PRIMITIVES
            return (
                Type(kind=found) if is_primitive else self._named(self.types[found], found, place)
            )
        return self._object(found, place)

    def _object(self, found: Mapping[str, Any], place: str) -> Type:
        kind = found["type"]
        if isinstance(kind, dict | list) or kind in self.types:
            return self.type_of(kind, place)
        if kind in PRIMITIVES:
            return _with_logical(Type(kind=kind), found, place)
        if kind in {"array", "map"}:
            inner = found["items" if kind == "array" else "values"]
            return Type(kind=kind, inner=(self.type_of(inner, place),))
        return self._named(found, found["name"], place)

    def _union(self, found: list[Any], place: str) -> Type:
        inner = tuple(self.type_of(one, place) for one in found)
        if any(one.kind == "union" for one in inner) or not inner:
            raise _unusable(f"has at {place} a union without types, or of unions")
        if len({(one.kind, one.name) for one in inner}) < len(inner):
            raise _unusable(f"has at {place} a union with a type twice")
        return Type(kind="union", inner=inner)

    def _named(self, found: Any, name: str, place: str) -> Type:  # noqa: ANN401
        kind = found["type"]
        if kind == "enum":
            symbols = tuple(found["symbols"])
            return Type(kind=kind, name=name, symbols=symbols, aliases=_aliases(found))
        if kind == "fixed":
            if not isinstance(found["size"], int) or found["size"] < 0:
                raise _unusable(f"has at {place} a fixed type of {found['size']} bytes")
            fixed = Type(kind=kind, name=name, size=found["size"], aliases=_aliases(found))
            return _with_logical(fixed, found, place)
        if name in self.open:
            raise _unusable(f"has at {place} a record {name} that contains itself: no column can")
        self.open.append(name)
        fields = tuple(self._field(one, place) for one in found["fields"])
        self.open.pop()
        seen: dict[str, str] = {}
        for one in fields:
            before = seen.get(one.name.lower())
            if before is not None:
                how = "twice" if before == one.name else f"beside {before}, by case alone another"
                raise _unusable(f"has in record {name} a field {one.name} {how}")
            seen[one.name.lower()] = one.name
        return Type(kind="record", name=name, fields=fields, aliases=_aliases(found))

    def _field(self, found: Mapping[str, Any], place: str) -> Field:
        name = found["name"]
        below = name if place == "the schema" else f"{place}.{name}"
        return Field(
            name=name,
            type=self.type_of(found["type"], below),
            aliases=tuple(found.get("aliases", ())),
            default=json.dumps(found["default"]) if "default" in found else None,
        )


def _aliases(found: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(one).rpartition(".")[2] for one in found.get("aliases", ()))


def _with_logical(base: Type, found: Mapping[str, Any], place: str) -> Type:
    logical = found.get("logicalType")
    is_known = isinstance(logical, str) and (
        _LOGICAL.get(logical) == base.kind
        or (logical == "uuid" and (base.kind == "string" or base.size == _UUID_BYTES))
        or (logical == "duration" and base.kind == "fixed" and base.size == _DURATION_BYTES)
    )
    if logical == "decimal" and base.kind in {"bytes", "fixed"}:
        return _decimal(base, found, place)
    if not is_known:
        return base  # as the specification asks for
    return replace(base, logical=str(logical))


def _decimal(base: Type, found: Mapping[str, Any], place: str) -> Type:
    precision, scale = found.get("precision"), found.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return base
    if precision < 1 or not 0 <= scale <= precision:
        return base
    if precision > MOST_DIGITS:
        fact = f"has at {place} a decimal of {precision} digits; columns have {MOST_DIGITS} at most"
        raise _unusable(fact)
    return replace(base, logical="decimal", precision=precision, scale=scale)
