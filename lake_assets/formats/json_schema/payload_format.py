"""JSON with schemas in a registry as a payload format: the driver's side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from lake_assets.errors import UnknownColumnsError
from lake_assets.formats.base import Surroundings
from lake_assets.formats.confluent.cache import CachedRegistry, SchemaCache
from lake_assets.formats.confluent.registered_format import RegisteredFormat
from lake_assets.formats.confluent.registry import Registry
from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.json.decoder import JsonDecoder
from lake_assets.formats.json.row_reader import Rules
from lake_assets.formats.json_schema.decoder import JsonSchemaDecoder
from lake_assets.formats.json_schema.decoding_plan import made_by, plan_decoding
from lake_assets.formats.json_schema.joined_types import TIMES
from lake_assets.formats.json_schema.language import JSON_SCHEMA
from lake_assets.formats.json_schema.titles import record_name
from lake_assets.formats.questions import Question, UnknownNamesQuestion
from lake_assets.formats.schema_merge import goes_with
from lake_assets.model.misfits import RESCUED
from lake_assets.model.payload import JsonPayload

_CACHE = "json"
"""Folder of what is kept: a subject may be read in another language by another feed."""


@dataclass(frozen=True, slots=True)
class JsonSchemaFormat(RegisteredFormat[JsonPayload]):
    """A `formats.base.PayloadFormat` whose schemas are the versions of a subject."""

    feed: str = ""
    taken: tuple[str, ...] = ()
    """As `Surroundings.taken`: no property makes a column of such a name."""

    @classmethod
    def of(cls, feed: str, declared: JsonPayload, surroundings: Surroundings) -> Self:
        """With a registry whose answers are kept, if there is a folder for them."""
        registry = Registry(surroundings.registry, JSON_SCHEMA, surroundings.registry_access)
        if surroundings.cache is None:
            return cls(declared, registry, feed, surroundings.taken)
        kept = CachedRegistry(registry, SchemaCache(surroundings.cache / _CACHE))
        return cls(declared, kept, feed, surroundings.taken)

    def resolve(self, schemas: SchemaSet, questions: frozenset[Question]) -> SchemaSet:
        """With what the registry says of ids, and with the versions that rows have.

        Raises:
            RegistryError: no answer.
            UnknownColumnsError: rows have names at which the feed is to stop.
        """
        self._stop_if_unknown(questions)
        return RegisteredFormat.resolve(self, schemas, questions)

    def let_wait(self, schemas: SchemaSet, questions: frozenset[Question]) -> SchemaSet:
        """With the versions that rows have; rows of ids never met wait.

        Raises:
            UnknownColumnsError: rows have names at which the feed is to stop.
        """
        self._stop_if_unknown(questions)
        return RegisteredFormat.let_wait(self, schemas, questions)

    def plan(self, schemas: SchemaSet, have: pa.Schema, route: Sequence[str]) -> JsonSchemaDecoder:
        """All versions' rows into the same columns."""
        declared = self.declared
        tables = pa.schema([one for one in have if one.name != RESCUED])
        decoding = plan_decoding(schemas, tables, next(iter(route), None), self.taken)
        columns = _with_rescued(decoding.columns, have, rescues=declared.rescues)
        columns = have if columns.equals(have, check_metadata=True) else columns
        rescued = {RESCUED} & {*columns.names}
        return JsonSchemaDecoder(
            plan=decoding,
            name=record_name(schemas),
            own=frozenset(decoding.columns.names) | rescued,
            inner=JsonDecoder(
                columns=columns,
                rules=Rules(
                    fields=decoding.fields,
                    on_mismatch=declared.on_mismatch,
                    on_unknown=declared.on_unknown,
                ),
            ),
        )

    def goes_with(self, have: pa.Field, came: pa.Field) -> bool:
        """Whether a column holds a property's values, or gets a type that does."""
        is_time = came.type in TIMES and pa.types.is_string(have.type)
        return is_time or goes_with(have, came, promotes=True)

    def made_by(self, schemas: SchemaSet, route: Sequence[str]) -> list[pa.Schema]:
        """The columns of the newest version, and of those whose rows were met."""
        return made_by(schemas, next(iter(route), None), self.taken)

    def _stop_if_unknown(self, questions: frozenset[Question]) -> None:
        names = {n for q in questions if isinstance(q, UnknownNamesQuestion) for n in q.names}
        if names:
            raise UnknownColumnsError(self.feed, sorted(names))


def _with_rescued(columns: pa.Schema, have: pa.Schema, *, rescues: bool) -> pa.Schema:
    """The columns with that of what is rescued: where it is, or last if it comes now."""
    rescued = pa.field(RESCUED, pa.string())
    if RESCUED not in have.names:
        return columns.append(rescued) if rescues else columns
    place = have.names.index(RESCUED)
    return columns.insert(place, have.field(place))
