"""How silver's tables are laid out: what a feed declares, for all keys or for one of them.

Which columns a table needs for it is `silver.layouts`' to tell, once the columns are known.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, model_validator

from lake_assets.model.base import Noun
from lake_assets.model.checks import ColumnName
from lake_assets.model.retention import SilverRetention
from lake_assets.model.unique_names import refuse_twins

_DAY = re.compile(r"date\(\s*([^()]+?)\s*\)", re.IGNORECASE)

_PLAIN = re.compile(r"[^()\s,;{}=]+")


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A column by which a table is partitioned."""

    name: str
    source: str
    """The column that it is made of; itself, if it is a column of the rows."""

    is_day: bool = False
    """Whether it is the day of a timestamp, in UTC, and the table has it in addition."""

    @classmethod
    def of(cls, name: str, expression: str) -> Self:
        """As a feed declares it; raises a ValueError for what is neither a column nor a day."""
        day = _DAY.fullmatch(expression.strip())
        if day:
            if day[1] == name:
                message = f"{name}: date({name}) needs a name of its own, as {name}_date"
                raise ValueError(message)
            return cls(name, day[1], is_day=True)
        if _PLAIN.fullmatch(expression) is None:
            message = (
                f"{expression!r} is neither a column nor date(column): rows are partitioned by "
                "columns of few values, and by the day of a timestamp"
            )
            raise ValueError(message)
        if expression != name:
            message = f"{name}: {expression} is a column's other name\npartition by {expression}"
            raise ValueError(message)
        return cls(name, name)

    @property
    def expression(self) -> str:
        """As a feed declares it."""
        return f"date({self.source})" if self.is_day else self.name


def _by_name(value: object) -> object:
    """One expression, several, or by the name of the column."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        return value
    named = [(_name_of(each), each) for each in value]
    refuse_twins("partition_by", [name for name, _ in named])
    return dict(named)


def _name_of(expression: str) -> str:
    day = _DAY.fullmatch(expression.strip())
    return f"{day[1]}_date" if day else expression


def _usable(columns: Mapping[str, str]) -> Mapping[str, str]:
    for name, expression in columns.items():
        column = PartitionColumn.of(name, expression)
        for each in (name, column.source):
            if each.startswith(("_", "#")):
                message = f"{each} begins with _, as the columns do that say where a row came from"
                raise ValueError(message)
        if _PLAIN.fullmatch(name) is None:
            message = f"{name!r} cannot name a column"
            raise ValueError(message)
    return columns


PartitionBy = Annotated[
    dict[str, str],
    BeforeValidator(_by_name),
    AfterValidator(_usable),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "additionalProperties": {"type": "string"}},
            ]
        }
    ),
]
"""Column names, or by name of a column its expression."""


def _each_once(columns: tuple[str, ...]) -> tuple[str, ...]:
    refuse_twins("columns", list(columns))
    return columns


Columns = Annotated[tuple[ColumnName, ...], AfterValidator(_each_once)]


class Layout(Noun):
    """How the silver table of one key differs from the others of its feed."""

    partition_by: PartitionBy | None = None
    """In place of the feed's `partition_by`; `[]` for none."""

    cluster_by: Columns | None = None
    """In place of the feed's `cluster_by`; `[]` for none."""

    bloom_filters: Columns | None = None
    """In place of the feed's `bloom_filters`; `[]` for none."""

    retention: SilverRetention | None = None
    """In place of the feed's `retention`; `null` for ever."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            message = "says nothing\ngive partition_by, cluster_by, bloom_filters or retention"
            raise ValueError(message)
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class TableLayout:
    """How one silver table is laid out."""

    partition_by: tuple[PartitionColumn, ...] = ()
    cluster_by: tuple[str, ...] = ()
    bloom_filters: tuple[str, ...] = ()
    retention: SilverRetention | None = None

    def but(self, other: Layout | None) -> "TableLayout":
        """The same with what another one says in its place."""
        if other is None:
            return self
        said = other.model_fields_set
        return TableLayout(
            partition_by=partition_columns(other.partition_by or {})
            if "partition_by" in said
            else self.partition_by,
            cluster_by=(other.cluster_by or ()) if "cluster_by" in said else self.cluster_by,
            bloom_filters=(other.bloom_filters or ())
            if "bloom_filters" in said
            else self.bloom_filters,
            retention=other.retention if "retention" in said else self.retention,
        )


def partition_columns(declared: Mapping[str, str]) -> tuple[PartitionColumn, ...]:
    """What a feed declares, in its order."""
    return tuple(PartitionColumn.of(name, expression) for name, expression in declared.items())
