"""Keys of rows that are framed, as Confluent's serializers write them: read by their subject.

Nothing is asked of the registry before a key needs it. What columns a key has is all that is read
of it; which of them name a row, and what becomes of that, is `tombstones`'s business.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.errors import SchemaNotFoundError, SchemaUnusableError
from lake_assets.formats.avro.payload_format import AvroFormat
from lake_assets.formats.base import Decoded, Decoder, PayloadFormat, Surroundings
from lake_assets.formats.confluent.framing import START, schema_ids
from lake_assets.formats.confluent.schemas import FORGET_AFTER_S, SchemaSet
from lake_assets.formats.json_schema.payload_format import JsonSchemaFormat
from lake_assets.formats.protobuf.payload_format import ProtobufFormat
from lake_assets.formats.questions import (
    MessageQuestion,
    Question,
    RowKeyQuestion,
    SchemaIdQuestion,
)
from lake_assets.formats.wrapped_schemas import WrappedSchemas
from lake_assets.model.feeds import Feed
from lake_assets.model.misfits import OnUnknown
from lake_assets.model.payload import AvroPayload, JsonPayload
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.quarantine import Reason
from lake_assets.model.subjects import OfSubjects

_OF_VALUES, _OF_KEYS = "-value", "-key"
"""Ends of subjects that are called by their topic."""

SchemasT = TypeVar("SchemasT", SchemaSet, WrappedSchemas)
"""What is known of values, of which envelopes may be: with it stands what is known of keys."""

_PLAIN = (str, int, bool, float, Decimal, date)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeySchemas:
    """What is known of keys; nothing before one is met."""

    found: SchemaSet | None = None
    problem: str = ""
    """Why there are none, though they were asked about."""

    asked_at: float = 0.0
    waiting: frozenset[int] = frozenset()
    """Ids that could not be asked about while nothing was known."""


@dataclass(frozen=True, slots=True)
class FramedKeys:
    """The driver's side: the schemas of keys."""

    subject: str
    format: PayloadFormat[SchemaSet]
    """Of that subject, in the language of values."""

    clock: Callable[[], float]

    def resolve(
        self, before: SchemasT, after: SchemasT, asked: Sequence[RowKeyQuestion]
    ) -> SchemasT:
        """`after` with what was known of keys, and an answer to each question.

        Args:
            before: what was known.
            after: the same with what was learned of values.
            asked: about keys.

        Raises:
            RegistryError: no answer.
        """
        known = _known(before)
        return _with(after, self._resolved(known, asked) if asked else known)

    def let_wait(
        self, before: SchemasT, after: SchemasT, asked: Sequence[RowKeyQuestion]
    ) -> SchemasT:
        """As `resolve`, where rows wait whose keys' schemas are not known."""
        schemas = _known(before)
        if schemas.found is not None:
            found = self.format.let_wait(schemas.found, _inner(asked))
            return _with(after, replace(schemas, found=found))
        waiting = schemas.waiting | {one.schema_id for one in asked}
        return _with(after, replace(schemas, waiting=waiting))

    def for_next_batch(self, before: SchemasT, after: SchemasT, now: float) -> SchemasT:
        """As `resolve`, without answers that may have changed."""
        schemas = _known(before)
        is_old = schemas.problem and now - schemas.asked_at >= FORGET_AFTER_S
        if schemas.found is not None:
            found = self.format.for_next_batch(schemas.found, now)
            return _with(after, replace(schemas, found=found))
        own = KeySchemas() if is_old else replace(schemas, waiting=frozenset())
        return _with(after, own)

    def _resolved(self, schemas: KeySchemas, asked: Sequence[RowKeyQuestion]) -> KeySchemas:
        found = schemas.found
        if found is None:
            try:
                found = self.format.newest()
            except (SchemaNotFoundError, SchemaUnusableError) as problem:
                return KeySchemas(problem=problem.fact, asked_at=self.clock())
        return KeySchemas(found=self.format.resolve(found, _inner(asked)))

    def plan(self, known: SchemasT) -> "KeyDecoder":
        """What reads keys in the workers.

        Raises:
            RegistryError: no schema makes columns.
        """
        schemas = _known(known)
        found = schemas.found
        return KeyDecoder(
            subject=self.subject,
            decoder=None if found is None else self.format.plan(found, pa.schema([]), ()),
            problem=schemas.problem,
            waiting=schemas.waiting,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadKey:
    """What a framed key says: values by column, or why not, or what must be asked first."""

    values: dict[str, Any] | None = None
    fact: str = ""
    is_waiting: bool = False
    question: RowKeyQuestion | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyDecoder:
    """The workers' side."""

    subject: str
    decoder: Decoder | None
    problem: str
    waiting: frozenset[int]

    @property
    def has_waiting(self) -> bool:
        """Whether rows wait for what the registry says of their keys."""
        return bool(self.waiting) or (self.decoder is not None and self.decoder.has_waiting)

    def read(self, keys: Sequence[bytes]) -> list[ReadKey]:
        """Read framed keys; none makes another fail."""
        values = pa.array(keys, pa.binary())
        ids = schema_ids(values)
        if self.decoder is None:
            return [self._unknown(schema_id) for schema_id in ids.to_pylist()]
        batch = pa.RecordBatch.from_pydict({"value": values, "schema_id": ids})
        return _read(self.decoder.decode(batch))

    def _unknown(self, schema_id: int) -> ReadKey:
        if self.problem:
            return ReadKey(fact=f"subject {self.subject} {self.problem}")
        if schema_id in self.waiting:
            return ReadKey(fact=_silent(schema_id), is_waiting=True)
        return ReadKey(question=RowKeyQuestion(schema_id))


def is_framed(key: bytes) -> bool:
    """Whether a key begins as one with a schema of a registry."""
    return len(key) >= START and key[0] == 0


def is_plain(value: object) -> bool:
    """Whether a value of a key can name a row."""
    return isinstance(value, _PLAIN)


def framed_keys(
    feed: Feed, surroundings: Surroundings, clock: Callable[[], float]
) -> FramedKeys | None:
    """What reads a feed's framed keys; None if nothing says what their subject is called.

    It is said by the subject of values that is called by its topic, as usual; keys are then in the
    language of values.

    Args:
        feed: whose.
        surroundings: as its format has them.
        clock: tells the time in seconds since 1970.
    """
    declared = feed.payload.declared
    of_values = declared.subject if isinstance(declared, OfSubjects) else ""
    if not of_values.endswith(_OF_VALUES):
        return None
    subject = of_values.removesuffix(_OF_VALUES) + _OF_KEYS
    made: PayloadFormat[SchemaSet]
    if isinstance(declared, JsonPayload):
        # What does not fit a column is no value of it, and names beside `by` say nothing.
        keys = JsonPayload(subject=subject, on_unknown=OnUnknown.IGNORE)
        made = JsonSchemaFormat.of(feed.feed, keys, surroundings)
    elif isinstance(declared, ProtobufPayload):
        made = ProtobufFormat.of(feed.feed, ProtobufPayload(subject=subject), surroundings)
    else:
        made = AvroFormat.of(feed.feed, AvroPayload(subject=subject), surroundings)
    return FramedKeys(subject, made, clock)


def _known(schemas: SchemasT) -> KeySchemas:
    return schemas.of_keys if isinstance(schemas.of_keys, KeySchemas) else KeySchemas()


def _with(schemas: SchemasT, known: KeySchemas) -> SchemasT:
    """With what is known of keys; itself if it was known, so that nobody plans anew."""
    return schemas if _known(schemas) == known else replace(schemas, of_keys=known)


def _inner(asked: Sequence[RowKeyQuestion]) -> frozenset[Question]:
    return frozenset(
        MessageQuestion(one.schema_id, one.path) if one.path else SchemaIdQuestion(one.schema_id)
        for one in asked
    )


def _silent(schema_id: int) -> str:
    return f"the registry does not answer for schema id {schema_id} of its key"


def _read(decoded: Decoded) -> list[ReadKey]:
    rows = decoded.columns.to_pylist()
    is_waiting = pc.equal(decoded.reason, Reason.WAITING.value).fill_null(fill_value=False)
    found = []
    for row, reason, detail, waits, asked in zip(
        rows,
        decoded.reason.to_pylist(),
        decoded.detail.to_pylist(),
        is_waiting.to_pylist(),
        decoded.question.to_pylist(),
        strict=True,
    ):
        if asked is not None:
            found.append(ReadKey(question=_about_key(decoded.questions[asked])))
        elif reason is not None:
            found.append(ReadKey(fact=detail or reason, is_waiting=waits))
        else:
            found.append(ReadKey(values=row))
    return found


def _about_key(question: Question) -> RowKeyQuestion:
    if isinstance(question, MessageQuestion):
        return RowKeyQuestion(question.schema_id, question.path)
    if isinstance(question, SchemaIdQuestion):
        return RowKeyQuestion(question.schema_id)
    raise TypeError(question)
