"""JSON as a payload format: the driver's side. Nothing is asked outside: the schema is declared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import pyarrow as pa

from lake_assets.errors import LakeError
from lake_assets.formats.base import NewColumnsQuestion, Question, Surroundings
from lake_assets.formats.json.columns import (
    MOST_COLUMNS,
    arrow_schema,
    can_be_added,
    column_of,
    common_type,
)
from lake_assets.formats.json.decoder import JsonDecoder
from lake_assets.formats.json.row_reader import Rules
from lake_assets.formats.schema_merge import Mismatch, merge
from lake_assets.model.payload import RESCUED, JsonPayload, OnUnknown

_RESCUED = pa.schema([pa.field(RESCUED, pa.string())])


@dataclass(frozen=True, slots=True)
class JsonSchemas:
    """The declared columns, and those that were added since demux started."""

    declared: pa.Schema
    added: pa.Schema


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A `formats.base.PayloadFormat`."""

    reads: ClassVar[tuple[str, ...]] = ("value",)

    feed: str
    declared: JsonPayload
    taken: tuple[str, ...] = ()
    """As `Surroundings.taken`: no column is added by such a name."""

    @classmethod
    def of(cls, feed: str, declared: JsonPayload, surroundings: Surroundings) -> Self:
        """Of the declaration; nothing outside is asked."""
        return cls(feed, declared, surroundings.taken)

    def newest(self) -> JsonSchemas:
        """What is declared."""
        return JsonSchemas(arrow_schema(self.declared.columns), pa.schema([]))

    def check(self) -> None:
        """Always answers."""

    def for_next_batch(self, schemas: JsonSchemas, now: float) -> JsonSchemas:  # noqa: ARG002
        """The same: nothing outside changes."""
        return schemas

    def resolve(self, schemas: JsonSchemas, questions: frozenset[Question]) -> JsonSchemas:
        """With a column for each name that rows have, as far as there may be so many.

        Of different types for one name `common_type` says which one its column has.
        """
        columns = sorted(
            column
            for question in questions
            if isinstance(question, NewColumnsQuestion)
            for column in question.columns
        )
        kinds: dict[str, list[str]] = {}
        for name, kind in columns:
            kinds.setdefault(name, []).append(kind)
        added = list(schemas.added)
        for name, candidates in kinds.items():
            columns_now = [*schemas.declared.names, *(column.name for column in added)]
            is_full = len(columns_now) >= MOST_COLUMNS
            if not is_full and can_be_added(name, [*columns_now, *self.taken]):
                added.append(column_of(name, common_type(candidates)))
        return replace(schemas, added=pa.schema(added))

    def let_wait(self, schemas: JsonSchemas, questions: frozenset[Question]) -> JsonSchemas:
        """As `resolve`: no question needs the outside."""
        return self.resolve(schemas, questions)

    def plan(self, schemas: JsonSchemas, have: pa.Schema, route: Sequence[str]) -> JsonDecoder:  # noqa: ARG002
        """All that is declared is read; with `add_columns` also what was added, now or before.

        As many are added as `MOST_COLUMNS` leaves room for beside those that the tables have.
        """
        schemas = _bounded(schemas, have)
        columns = merge(have, self._made(schemas))
        if isinstance(columns, Mismatch):
            raise LakeError(
                f"silver of feed {self.feed!r}",
                f"column {columns.path} is {columns.have}, and declared as {columns.came}",
                "Declare it as it is or under another name, or rebuild silver without it",
            )
        return JsonDecoder(
            columns=columns,
            rules=Rules(
                fields=self._read(schemas, columns),
                on_mismatch=self.declared.on_mismatch,
                on_unknown=self.declared.on_unknown,
                added=self._added(schemas, columns),
                taken=self.taken,
            ),
        )

    def made_by(self, schemas: JsonSchemas, route: Sequence[str]) -> list[pa.Schema]:  # noqa: ARG002
        """The declared columns and the added ones; there is one kind of row."""
        return [self._made(schemas)]

    def _made(self, schemas: JsonSchemas) -> pa.Schema:
        rescued = _RESCUED if self.declared.rescues else pa.schema([])
        return pa.schema([*schemas.declared, *schemas.added, *rescued])

    def _read(self, schemas: JsonSchemas, columns: pa.Schema) -> pa.Schema:
        """Which columns are read from values, declared ones with the type that is declared."""
        added = self._added(schemas, columns)
        others = (column for column in columns if column.name in added)
        return pa.schema([*schemas.declared, *(column.remove_metadata() for column in others)])

    def _added(self, schemas: JsonSchemas, columns: pa.Schema) -> frozenset[str]:
        """Names of the columns that are read though nobody declared them."""
        if self.declared.on_unknown is not OnUnknown.ADD_COLUMNS:
            return frozenset()
        return frozenset(columns.names) - {*schemas.declared.names, RESCUED}


def _bounded(schemas: JsonSchemas, have: pa.Schema) -> JsonSchemas:
    """Without those added columns for which tables that have some already have no room."""
    taken = {*have.names, *schemas.declared.names} - {RESCUED}
    room = max(0, MOST_COLUMNS - len(taken))
    new = [column.name for column in schemas.added if column.name not in taken]
    left_out = {*new[room:]}
    kept = [column for column in schemas.added if column.name not in left_out]
    return replace(schemas, added=pa.schema(kept))
