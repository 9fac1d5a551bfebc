"""JSON as a payload format: the driver's side.

Nothing is asked outside: the schema is declared, or inferred from the rows. What was learnt from
rows is in the tables' columns alone; a restart knows no more than these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import pyarrow as pa

from lake_assets.errors import UnknownColumnsError
from lake_assets.formats.base import Surroundings
from lake_assets.formats.declared_columns import with_declared
from lake_assets.formats.json.columns import arrow_schema, column_of, is_addable
from lake_assets.formats.json.decoder import JsonDecoder
from lake_assets.formats.json.folded_types import FoldedColumns
from lake_assets.formats.json.grown_columns import GrowthRules, grown_columns
from lake_assets.formats.json.inference import MOST_COLUMNS
from lake_assets.formats.json.row_reader import Rules
from lake_assets.formats.questions import (
    KeptTypesQuestion,
    NewColumnsQuestion,
    Question,
    UnknownNamesQuestion,
)
from lake_assets.model.misfits import RESCUED, OnUnknown
from lake_assets.model.payload import JsonPayload

_RESCUED = pa.schema([pa.field(RESCUED, pa.string())])


@dataclass(frozen=True, slots=True)
class JsonSchemas:
    """The declared columns, and what rows asked for since demux started."""

    declared: pa.Schema
    added: pa.Schema
    """By name the one type that rows have."""

    crowded: frozenset[str] = frozenset()
    """Names for which rows have more fields than a table may have."""

    is_first: bool = True
    """Whether no row is in the tables yet, as far as it matters."""

    unrounded: frozenset[str] = frozenset()
    """Columns whose stored integers doubles would not hold."""


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A `formats.base.PayloadFormat`."""

    reads: ClassVar[tuple[str, ...]] = ("value",)

    feed: str
    declared: JsonPayload
    taken: tuple[str, ...] = ()
    """As `Surroundings.taken`: no column is added by such a name."""

    has_rows: Callable[[], bool] = bool
    """As `Surroundings.has_rows`."""

    @classmethod
    def of(cls, feed: str, declared: JsonPayload, surroundings: Surroundings) -> Self:
        """Of the declaration; nothing outside is asked."""
        return cls(feed, declared, surroundings.taken, surroundings.has_rows)

    def newest(self) -> JsonSchemas:
        """What is declared."""
        schemas = JsonSchemas(arrow_schema(self.declared.columns), pa.schema([]))
        return replace(schemas, is_first=self._makes_first(schemas))

    def check(self) -> None:
        """Always answers."""

    def for_next_batch(self, schemas: JsonSchemas, now: float) -> JsonSchemas:  # noqa: ARG002
        """The same, unless the first rows have come."""
        is_first = self._makes_first(schemas)
        return schemas if is_first == schemas.is_first else replace(schemas, is_first=is_first)

    def resolve(self, schemas: JsonSchemas, questions: frozenset[Question]) -> JsonSchemas:
        """With the types that rows have for each name; `plan` says what becomes of them.

        Raises:
            UnknownColumnsError: rows have names at which the feed is to stop.
        """
        unknown = {n for q in questions if isinstance(q, UnknownNamesQuestion) for n in q.names}
        if unknown:
            raise UnknownColumnsError(self.feed, sorted(unknown))
        kept = {n for q in questions if isinstance(q, KeptTypesQuestion) for n in q.columns}
        asked = [q for q in questions if isinstance(q, NewColumnsQuestion)]
        folded = FoldedColumns(MOST_COLUMNS)
        folded.crowd({*schemas.crowded, *(name for q in asked for name in q.crowded)})
        new = sorted({column for q in asked for column in q.columns})
        names = list(dict.fromkeys(name for name, _ in new))[:MOST_COLUMNS]  # others ask again
        some = {*names, *schemas.added.names}
        further = (column_of(name, kind) for name, kind in new if name in some)
        for field in [*schemas.added, *further]:
            folded.add(field.name, field.type)
        taken = {name.lower() for name in (*schemas.declared.names, *self.taken)}
        return replace(
            schemas,
            added=pa.schema([one for one in folded.columns if is_addable(one.name, taken)]),
            crowded=frozenset(folded.crowded),
            unrounded=schemas.unrounded | kept,
        )

    def let_wait(self, schemas: JsonSchemas, questions: frozenset[Question]) -> JsonSchemas:
        """As `resolve`: no question needs the outside."""
        return self.resolve(schemas, questions)

    def plan(self, schemas: JsonSchemas, have: pa.Schema, route: Sequence[str]) -> JsonDecoder:  # noqa: ARG002
        """All that is declared is read, and what was added or inferred, now or before."""
        rescued = _RESCUED if self.declared.rescues else pa.schema([])
        columns = with_declared(self.feed, have, pa.schema([*schemas.declared, *rescued]))
        rule = self._on_unknown(schemas, columns)
        growth = GrowthRules(
            fixed={*schemas.declared.names, RESCUED},
            taken=self.taken,
            widens=self.declared.infer,
            adds=rule is OnUnknown.ADD_COLUMNS,
            unrounded=schemas.unrounded,
            crowded=schemas.crowded,
        )
        grown = grown_columns(columns, schemas.added, growth)
        added = self._added(schemas, grown.columns)
        return JsonDecoder(
            columns=grown.columns,
            rules=Rules(
                fields=_read(schemas, grown.columns, added),
                on_mismatch=self.declared.on_mismatch,
                on_unknown=rule,
                added=added,
                taken=self.taken,
                widens=self.declared.infer,
                fixed=grown.refused,
                unrounded=schemas.unrounded,
                room=grown.room,
            ),
        )

    def made_by(self, schemas: JsonSchemas, route: Sequence[str]) -> list[pa.Schema]:
        """The declared columns and the added ones; there is one kind of row."""
        return [self.plan(schemas, pa.schema([]), route).columns]

    def _on_unknown(self, schemas: JsonSchemas, columns: pa.Schema) -> OnUnknown:
        """The declared rule; names of the first rows that tables get make columns."""
        own = {*schemas.declared.names, *schemas.added.names, RESCUED}
        is_first = schemas.is_first and not schemas.added.names and own.issuperset(columns.names)
        return OnUnknown.ADD_COLUMNS if is_first else self.declared.on_unknown

    def _makes_first(self, schemas: JsonSchemas) -> bool:
        """Whether there is still something that new names do before the first row alone."""
        is_other = self.declared.on_unknown is not OnUnknown.ADD_COLUMNS
        is_open = self.declared.infer and is_other and schemas.is_first
        return is_open and not schemas.added.names and not self.has_rows()

    def _added(self, schemas: JsonSchemas, columns: pa.Schema) -> frozenset[str]:
        """Names of the columns that are read though nobody declared them."""
        if not self.declared.infer and self.declared.on_unknown is not OnUnknown.ADD_COLUMNS:
            return frozenset()
        return frozenset(columns.names) - {*schemas.declared.names, RESCUED}


def _read(schemas: JsonSchemas, columns: pa.Schema, added: frozenset[str]) -> pa.Schema:
    """Which columns are read from values, declared ones with the type that is declared."""
    others = (column.remove_metadata() for column in columns if column.name in added)
    return pa.schema([*schemas.declared, *others])
