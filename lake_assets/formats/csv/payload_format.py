"""CSV as a payload format: the driver's side. Nothing is asked outside: the schema is declared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import pyarrow as pa

from lake_assets.formats.base import Surroundings
from lake_assets.formats.csv.decoder import CsvDecoder
from lake_assets.formats.csv.records import Dialect
from lake_assets.formats.declared_columns import with_declared
from lake_assets.formats.json.columns import arrow_schema
from lake_assets.formats.questions import Question
from lake_assets.model.csv_payload import CsvPayload
from lake_assets.model.misfits import RESCUED

_RESCUED = pa.schema([pa.field(RESCUED, pa.string())])


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """A `formats.base.PayloadFormat`; what is known of its schemas is the declared one."""

    reads: ClassVar[tuple[str, ...]] = ("value",)

    feed: str
    declared: CsvPayload

    @classmethod
    def of(cls, feed: str, declared: CsvPayload, surroundings: Surroundings) -> Self:  # noqa: ARG003
        """Of the declaration; nothing outside is asked."""
        return cls(feed, declared)

    def newest(self) -> pa.Schema:
        """What is declared."""
        return arrow_schema(self.declared.columns)

    def check(self) -> None:
        """Always answers."""

    def for_next_batch(self, schemas: pa.Schema, now: float) -> pa.Schema:  # noqa: ARG002
        """The same: nothing outside changes."""
        return schemas

    def resolve(self, schemas: pa.Schema, questions: frozenset[Question]) -> pa.Schema:  # noqa: ARG002
        """The same: no record asks."""
        return schemas

    def let_wait(self, schemas: pa.Schema, questions: frozenset[Question]) -> pa.Schema:  # noqa: ARG002
        """The same: no record asks."""
        return schemas

    def plan(self, schemas: pa.Schema, have: pa.Schema, route: Sequence[str]) -> CsvDecoder:
        """All that is declared is read, by its place; columns that are no longer declared stay."""
        (made,) = self.made_by(schemas, route)
        columns = with_declared(self.feed, have, made)
        declared = self.declared
        return CsvDecoder(
            columns=columns,
            fields=schemas,
            dialect=Dialect(
                delimiter=declared.delimiter,
                quote=declared.quote,
                escape=declared.escape,
                null_value=declared.null_value,
            ),
            on_mismatch=declared.on_mismatch,
        )

    def made_by(self, schemas: pa.Schema, route: Sequence[str]) -> list[pa.Schema]:  # noqa: ARG002
        """The declared columns; there is one kind of record."""
        return [pa.schema([*schemas, *(_RESCUED if self.declared.rescues else ())])]
