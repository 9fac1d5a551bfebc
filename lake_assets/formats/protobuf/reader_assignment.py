"""Which reader decodes each row, by headers and schema ids alone; nothing is decoded here."""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.confluent.framing import Header, headers_of, is_short, strip
from lake_assets.formats.confluent.other_rows import judge
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets.formats.protobuf.decoding import Decoding
from lake_assets.formats.protobuf.messages import in_words
from lake_assets.formats.questions import MessageQuestion, Question, SchemaIdQuestion
from lake_assets.model.quarantine import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Assigned:
    """The answer for each row, in the order of the input: one of reader, reason and question."""

    values: pa.Array
    """As the decoder understands them."""

    reader: pa.Array
    """int64: index into `Decoding.readers`."""

    reason: pa.Array
    detail: pa.Array

    question: pa.Array
    """int32: index into `questions`."""

    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Verdict:
    reader: int | None = None
    reason: str | None = None
    detail: str | None = None
    question: Question | None = None


def sole_reader(values: pa.Array, ids: pa.Array, decoding: Decoding) -> int | None:
    """The reader of all rows, where one reads them all as they are; the usual case, and cheap."""
    if not len(ids):
        return None
    reader = decoding.places.get((ids[0].as_py(), FIRST))
    alike = [
        schema_id
        for (schema_id, path), r in decoding.places.items()
        if r == reader and path == FIRST
    ]
    if reader is None or not pc.all(pc.is_in(ids, value_set=pa.array(alike, pa.int64()))).as_py():
        return None
    return reader if pc.all(is_short(values), skip_nulls=False).as_py() else None


def assign(values: pa.Array, ids: pa.Array, decoding: Decoding) -> Assigned:
    """Find each row's reader, or why it has none.

    Args:
        values: binary; Confluent-framed protobuf.
        ids: int64, one a value; null where the value is not framed.
        decoding: what is known of the ids.
    """
    known = pa.array(sorted(decoding.messages), pa.int64())
    is_known = pc.is_in(ids, value_set=known)
    rows = pc.indices_nonzero(is_known)
    values_known, verdicts, which = _judge_known(values.take(rows), ids.take(rows), decoding)
    reason, detail, asked_ids = judge(values, ids, is_known, decoding)
    messages = [verdict.question for verdict in verdicts if verdict.question is not None]
    codes: dict[Question | None, int] = {message: code for code, message in enumerate(messages)}
    open_ids = asked_ids.dictionary_encode()
    id_questions = [SchemaIdQuestion(open_id) for open_id in open_ids.dictionary.to_pylist()]
    question = pc.add(open_ids.indices, len(messages)).cast(pa.int32())

    def known_or(answers: Iterable[object], others: pa.Array) -> pa.Array:
        return pc.replace_with_mask(others, is_known, pa.array(answers, others.type).take(which))

    return Assigned(
        values=pc.replace_with_mask(values, is_known, values_known),
        reader=known_or([verdict.reader for verdict in verdicts], pa.nulls(len(ids), pa.int64())),
        reason=known_or([verdict.reason for verdict in verdicts], reason),
        detail=known_or([verdict.detail for verdict in verdicts], detail),
        question=known_or([codes.get(verdict.question) for verdict in verdicts], question),
        questions=(*messages, *id_questions),
    )


def _judge_known(
    values: pa.Array, ids: pa.Array, decoding: Decoding
) -> tuple[pa.Array, list[_Verdict], pa.Array]:
    """Rows of the subject's usable versions: decodable values, verdicts, and which each row has."""
    headers = headers_of(values)
    total = len(headers.kinds)
    codes = pc.index_in(ids, value_set=pa.array(sorted(decoding.messages), pa.int64()))
    pairs = pc.add(pc.multiply(codes.cast(pa.int64()), total), headers.which).dictionary_encode()
    by_code = sorted(decoding.messages)
    verdicts = [
        _verdict(by_code[pair // total], headers.kinds[pair % total], decoding)
        for pair in pairs.dictionary.to_pylist()
    ]
    return strip(values, headers), verdicts, pairs.indices


def _verdict(schema_id: int, header: Header | None, decoding: Decoding) -> _Verdict:
    if header is None:
        problem = "the message index is missing or damaged"
        return _Verdict(reason=Reason.UNDECODABLE, detail=problem)
    pair = (schema_id, header.path)
    if pair in decoding.places:
        return _Verdict(reader=decoding.places[pair])
    if pair in decoding.refusals:
        reason, detail = decoding.refusals[pair]
        return _Verdict(reason=reason, detail=detail)
    stands_at = in_words(header.path)
    if header.path not in decoding.messages[schema_id]:
        problem = f"the schema has no message of index {stands_at}"
        return _Verdict(reason=Reason.UNDECODABLE, detail=problem)
    return _Verdict(question=MessageQuestion(schema_id, header.path))
