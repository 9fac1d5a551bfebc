"""A feed's `select` that makes a row of each element of an array: which array, and which columns.

Spark says what `explode`, `posexplode` and `inline` give; `silver.explode_rows` does it in Spark's
workers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from lake_assets.errors import FeedError
from lake_assets.formats.schema_merge import in_words
from lake_assets.model.misfits import RESCUED
from lake_assets.model.payload import Payload
from lake_assets.model.transforms import ELEMENT, generators_in
from lake_assets.silver.arrow_evaluator import Column, Node, StructField
from lake_assets.silver.catalyst_to_arrow import defined_below, node_of
from lake_assets.spark.jvm import analyzed_plan

_STAR = re.compile(r"\*\s*(?:except\s*\((.*)\)\s*)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rescued:
    """A decoded column of what did not fit others."""

    column: str = RESCUED
    prefix: str = ""
    """What begins the names of these; what did not fit has theirs without it."""


def rescued_of(payload: Payload) -> tuple[Rescued, ...]:
    """The columns of what did not fit that a payload has: its own, and that of its bodies."""
    own = [Rescued()] if payload.rescues else []
    body = payload.wrapped
    if body is not None and body.rescues:
        own.append(Rescued(column=f"{body.prefix}{RESCUED}", prefix=body.prefix))
    return tuple(own)


def has_other_types(payload: Payload) -> bool:
    """Whether values of a type that a column does not hold are in one beside it."""
    body = payload.wrapped
    return payload.avro is not None or (body is not None and body.avro is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Explosion:
    """An array of which each element becomes a row."""

    array: Node
    """The array: a decoded column, or a field in one."""

    holder: str
    """The decoded column that it is, or is in."""

    columns: pa.Schema
    """What an element gives beside its row's decoded columns; the last is its number."""

    position: str | None = None
    """Which of them says the element's number to whoever asked for it (`posexplode`)."""

    is_inline: bool = False
    """Whether the elements are structs whose fields are the columns."""

    rescued: tuple[Rescued, ...] = ()
    """Where decoded rows have what did not fit."""

    has_other_types: bool = False
    """Whether values of a type that a column does not hold may be beside it, as Avro's are."""

    refuses_unfit: bool = False
    """Whether rows without elements are left out, so that such as have none since something did not
    fit are refused instead."""

    @property
    def holders(self) -> tuple[Node, ...]:
        """The array, and the structs that it is in, from within."""
        found: list[Node] = [self.array]
        while isinstance(found[-1], StructField):
            found.append(found[-1].struct)
        return tuple(found)

    def path(self, columns: pa.Schema) -> list[tuple[str, pa.DataType]]:
        """Names and types from the decoded column to the array.

        Args:
            columns: the decoded ones.
        """
        found: list[tuple[str, pa.DataType]] = []
        for node in reversed(self.holders):
            if isinstance(node, StructField):
                field = found[-1][1].field(node.index)
                found.append((field.name, field.type))
            else:
                found.append((self.holder, columns.field(self.holder).type))
        return found

    @property
    def items(self) -> tuple[str, ...]:
        """The columns' names, as items of a `select`."""
        return tuple(f"`{name}`" for name in self.columns.names)


def explosion_of(
    thing: str, rows: DataFrame, columns: pa.Schema, items: Sequence[str]
) -> Explosion | None:
    """What the items say of an array; None if they make one row of each.

    Args:
        thing: whose items, in words.
        rows: none, with the decoded columns.
        columns: the decoded columns.
        items: of a feed's `select`.

    Raises:
        FeedError: there are two, or it is none that can be had of decoded rows.
        pyspark.errors.AnalysisException: it does not compile.
    """
    generators = generators_in(items)
    if not generators:
        return None
    if len(generators) > 1:
        fact = "makes rows of the elements of two arrays"
        raise FeedError(thing, fact, f"Leave one of them: {', '.join(generators)}")
    frame = rows.selectExpr(generators[0])
    generate = analyzed_plan(frame)
    while generate.nodeName() != "Generate":
        generate = generate.child()
    generator = generate.generator()
    kind = str(generator.getClass().getSimpleName())
    array = node_of(generator.child(), defined_below(generate, rows))
    if array is None:
        fact = f"takes the elements of {generator.child().sql()}, which is computed"
        step = "Name a column that is an array, or a field of a struct that is one"
        raise FeedError(thing, fact, step)
    of = _type_of(array, columns)
    if not pa.types.is_list(of):
        fact = f"takes the elements of {generator.child().sql()}, which is {in_words(of)}"
        raise FeedError(thing, fact, "Name an array")
    names = frame.columns
    taken = {name.lower() for name in columns.names}
    again = [name for name in (*names, ELEMENT) if name.lower() in taken]
    if again:
        fact = f"calls what an element gives {again[0]}, as a decoded column is"
        raise FeedError(thing, fact, "Give it another name: `… as item`")
    made = zip(names, _types(kind, of.value_type), strict=True)
    return Explosion(
        array=array,
        holder=_name_of_holder(array),
        columns=pa.schema([*made, (ELEMENT, pa.int32())]),
        position=names[0] if kind == "PosExplode" else None,
        is_inline=kind == "Inline",
    )


def without_generators(items: Sequence[str], explosion: Explosion) -> tuple[str, ...]:
    """The items over decoded columns and what an element gives, which come where it stood."""
    *own, number = explosion.items
    made: list[str] = []
    for item in items:
        star = _STAR.fullmatch(item)
        if generators_in([item]):
            made += own
        elif star:
            left_out = ", ".join(filter(None, (star[1], *explosion.items)))
            made.append(f"* except ({left_out})")
        else:
            made.append(item)
    return (*made, number)


def _types(kind: str, element: pa.DataType) -> Iterator[pa.DataType]:
    if kind == "PosExplode":
        yield pa.int32()
    if kind == "Inline":
        yield from (struct_field.type for struct_field in element)
    else:
        yield element


def _type_of(node: Node, columns: pa.Schema) -> pa.DataType:
    if isinstance(node, StructField):
        return _type_of(node.struct, columns).field(node.index).type
    assert isinstance(node, Column)  # noqa: S101 - nothing else gives an array
    return columns.field(node.name).type


def _name_of_holder(node: Node) -> str:
    while isinstance(node, StructField):
        node = node.struct
    assert isinstance(node, Column)  # noqa: S101 - as above
    return node.name
