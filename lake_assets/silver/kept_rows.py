"""Decoded rows as one batch, which waits beside a task while Spark computes something of them."""

from collections.abc import Sequence
from typing import cast

import pyarrow as pa

from lake_assets.formats.base import Decoded
from lake_assets.formats.questions import Question
from lake_assets.silver.questions import decoded as question_of
from lake_assets.silver.questions import encoded

_REASON, _DETAIL, _QUESTION, _MESSAGE = "#reason", "#detail", "#question", "#message"
"""Of a decoded row on its way: `Decoded`'s, the question and the message type as text."""

_COLUMN = "#decoded_"
"""Before the name of a decoded column, which may be called as one of bronze is."""

_ROW = pa.field("#row", pa.bool_())
"""Travels where no expression reads a column."""


def kept(batch: pa.RecordBatch, decoded: Decoded, own: Sequence[str]) -> pa.RecordBatch:
    """Bronze's columns `own` of a batch, and what became of its rows; for `decoded_of`."""
    texts = pa.array([encoded(one) for one in decoded.questions], pa.string())
    names = pa.array(decoded.messages, pa.string())
    message = decoded.message
    columns = {
        **{name: batch[name] for name in own if name in batch.schema.names},
        **{f"{_COLUMN}{name}": decoded.columns[name] for name in decoded.columns.schema.names},
        _REASON: decoded.reason,
        _DETAIL: decoded.detail,
        _QUESTION: texts.take(decoded.question),
        _MESSAGE: pa.nulls(len(batch), pa.string()) if message is None else names.take(message),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def decoded_of(rows: pa.RecordBatch, names: Sequence[str]) -> Decoded:
    """What `kept` was given: a decoder's answer.

    Args:
        rows: as `kept` made them.
        names: of the decoded columns.
    """
    asked, message = (rows[name].dictionary_encode() for name in (_QUESTION, _MESSAGE))
    return Decoded(
        # Selected, since a batch that is made of no columns has no rows.
        columns=rows.select([f"{_COLUMN}{name}" for name in names]).rename_columns(list(names)),
        reason=rows[_REASON],
        detail=rows[_DETAIL],
        question=asked.indices,
        questions=tuple(
            cast("Question", question_of(text)) for text in asked.dictionary.to_pylist()
        ),
        message=message.indices,
        messages=tuple(message.dictionary.to_pylist()),
    )


def travelling_columns(known: pa.Schema, reads: frozenset[str]) -> pa.Schema:
    """Columns that expressions read, at least one column."""
    read = [column.remove_metadata() for column in known if column.name in reads]
    return pa.schema(read or [_ROW])


def travelling(have: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """These columns of decoded rows, null where they have none."""
    arrays = [
        have[one.name] if one.name in have.schema.names else pa.nulls(have.num_rows, one.type)
        for one in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)
