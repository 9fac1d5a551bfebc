"""Keyed tables, as a feed declares them: which change of a row wins; frozen nouns, and their SQL.

What the changes come to is computed by `gold.keyed_changes`.
"""

import re
from enum import IntEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from lake_assets.model.base import Identifier, Noun
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.origins import FEED, SCHEMA_ID, OriginColumns
from lake_assets.model.tables import STATE
from lake_assets.model.unique_names import refuse_twins

START, END = "__start_at", "__end_at"
"""Columns of a history, as they are called in Spark's and Databricks' AUTO CDC."""

PLACE, END_PLACE = f"{STATE}order", f"{STATE}end"
"""Columns beside them: where in the order of changes a version begins, and where it ends."""


class History(IntEnum):
    """Which versions of a row a keyed table has."""

    NEWEST = 1  # a row a key: slowly changing dimension of type 1
    ALL = 2  # a row a version, with `__start_at` and `__end_at`: type 2


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Condition = Annotated[str, Field(min_length=1)]
"""Of Spark SQL over silver's columns."""


class Keyed(Noun):
    """Which row a change is of, which of several changes counts, and what a change does.

    The rows of silver are the changes. Whatever order they come in, and however often, the table
    is that of all of them: of each key the change with the greatest `order`, unless it deletes.
    """

    by: Annotated[tuple[Identifier, ...], BeforeValidator(_listed), Field(min_length=1)]
    """Columns of silver that tell which row a change is of: `id`, or `[tenant, id]`."""

    order: Annotated[tuple[Condition, ...], BeforeValidator(_listed), Field(min_length=1)]
    """Which change is the later one: a column of silver or a Spark SQL expression, or a list of
    them, the first of which decides first: `version`, `source.lsn`, `[updated_at, version]`. Of
    changes whose `order` is equal, the one with the greater topic, partition and offset counts."""

    deletes: Condition | None = None
    """Condition on changes that delete their row: `op = 'D'`. An older change that comes later
    does not bring the row back. Null is no delete."""

    truncates: Condition | None = None
    """Condition on changes that delete all rows of their key's table whose order is before their
    own: `op = 'T'`. Such a change needs no `by`. With `history: 1` only."""

    tombstones: bool = False
    """Whether rows without a value delete the row that Kafka's key names, as in a compacted topic:
    the key is an object of JSON with the columns of `by`, or the text of the one column there is,
    or, beside values whose registered subject is `<topic>-value`, of the registry's `<topic>-key`.
    They have no value to read `order` from, so it must be `_offset`; nor one for a `transform`, and
    a route reads a column of `by`. Expectations hold for them. Silver has them, too, with
    `_tombstone`, which a `select` hands on; where this is false, rows without a value go to
    quarantine."""

    history: History = History.NEWEST
    """`1`: the table has the newest version of each row. `2`: it has all of them, each from
    `__start_at` on and before `__end_at`, which are values of `order` (a struct of them if it is
    several); `__end_at` is null of the version that holds."""

    except_columns: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Columns of silver that the table has not, such as `[op]`."""

    @model_validator(mode="after")
    def _columns_are_used_once(self) -> Self:
        refuse_twins("by", list(self.by))
        refuse_twins("order", list(self.order))
        left_out = sorted({*self.by} & {*self.except_columns})
        if left_out:
            message = f"except_columns: {left_out[0]} is in `by`, and tells rows apart"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _a_history_is_not_truncated(self) -> Self:
        if self.truncates is not None and self.history is History.ALL:
            message = "truncates: a table with `history: 2` keeps its rows\nleave it out"
            raise ValueError(message)
        return self

    @property
    def is_delete(self) -> str:
        """SQL: whether a change deletes its row; never null."""
        told = [f"coalesce(({self.deletes}), false)"] if self.deletes else []
        told += ["coalesce(`_tombstone`, false)"] if self.tombstones else []
        return f"({' or '.join(told)})" if len(told) > 1 else next(iter(told), "false")

    @property
    def removes(self) -> bool:
        """Whether there are changes that remove rows."""
        return bool(self.deletes or self.truncates or self.tombstones)

    @property
    def is_truncate(self) -> str:
        """SQL: whether a change empties its table; never null."""
        return f"coalesce(({self.truncates}), false)" if self.truncates else "false"

    @property
    def is_complete(self) -> str:
        """SQL: whether a change tells its row and its order; others change nothing."""
        by = " and ".join(f"`{name}` is not null" for name in self.by)
        told = f"({by} or {self.is_truncate})" if self.truncates else by
        return " and ".join([told, *(f"({sql}) is not null" for sql in self.order)])

    @property
    def order_value(self) -> str:
        """SQL: what `__start_at` is of a change."""
        return f"({self.order[0]})" if len(self.order) == 1 else self._struct(())

    def place(self, identity: tuple[str, ...]) -> str:
        """SQL: a struct that is greater of a change that counts more; no two have the same.

        Args:
            identity: silver's columns with the origin of a row.
        """
        return self._struct(identity)

    def _struct(self, identity: tuple[str, ...]) -> str:
        of_order = [f"'order_{index}', ({sql})" for index, sql in enumerate(self.order)]
        of_origin = [f"'{name.strip('_')}', `{name}`" for name in identity]
        return f"named_struct({', '.join([*of_order, *of_origin])})"

    def expectation(self, view: str, origin: OriginColumns) -> Expectation:
        """Of a row before it is silver: one that could change nothing is refused, with this name.

        What of `order` reads where a row came from is left out: that is not there yet.

        Args:
            view: the keyed table.
            origin: the source's columns.
        """
        not_yet = {*origin.in_silver.names, f"_{SCHEMA_ID}", FEED}
        of_rows = tuple(sql for sql in self.order if not not_yet & _columns_in(sql))
        told = self.model_copy(update={"order": of_rows})
        return Expectation(
            name=f"{view}_has_key_and_order", sql=told.is_complete, action=Action.QUARANTINE
        )


_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_COLUMN = re.compile(r"(?<![\w.`])(?:`([^`]+)`|(\w+))")


def _columns_in(sql: str) -> set[str]:
    """Names that may be columns in an expression, in lower case; fields of columns are none."""
    rest = re.sub(r"\s*\.\s*", ".", _TEXT.sub("''", sql))
    return {(quoted or plain).lower() for quoted, plain in _COLUMN.findall(rest)}
