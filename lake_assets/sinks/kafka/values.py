"""What messages' values are made of rows: JSON, or protobuf in a registry's framing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from google.protobuf.json_format import MessageToJson

from lake_assets.sinks.far_times import python_values
from lake_assets.sinks.json_values import json_rows, values_of_column
from lake_assets.sinks.kafka.field_values import UnfitError
from lake_assets.sinks.kafka.subject import Framed, Subject

_VALUE, _KEY = "value", "key"


@dataclass(frozen=True, slots=True)
class Unfit:
    """A row that is no message."""

    reason: str
    shown: str
    """The row, for people."""


class Values(Protocol):
    """Makes the values of one sink's messages."""

    def rows_of(self, columns: Mapping[str, pa.Array], key: str | None) -> list[dict[str, Any]]:
        """As `base.Target.rows_of`; `key` is the column of the messages' keys.

        Raises:
            SinkError: no value can be made of rows with these columns, as things are.
        """
        ...

    def key_of(self, row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - of JSON
        """A row's key, as a value of JSON's."""
        ...

    def value_of(self, row: Mapping[str, Any]) -> "bytes | Unfit":
        """A row's value."""
        ...

    def shown(self, value: bytes) -> str:
        """A value that was made here, for people."""
        ...


class JsonValues:
    """An object a row."""

    def rows_of(self, columns: Mapping[str, pa.Array], key: str | None) -> list[dict[str, Any]]:  # noqa: ARG002
        """Rows with JSON's values."""
        return json_rows(columns)

    def key_of(self, row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - of JSON
        """The field."""
        return row[key]

    def value_of(self, row: Mapping[str, Any]) -> bytes | Unfit:
        """The object as a text."""
        return as_json(row).encode()

    def shown(self, value: bytes) -> str:
        """The text."""
        return value.decode()


class ProtobufValues:
    """A message of a registered type a row."""

    def __init__(self, subject: Subject) -> None:
        """Nothing is asked yet."""
        self._subject = subject
        self._framed: dict[pa.Schema, Framed] = {}

    def rows_of(self, columns: Mapping[str, pa.Array], key: str | None) -> list[dict[str, Any]]:
        """Rows that have their value and key ready: by the columns' types they are encoded."""
        schema = pa.schema([(name, column.type) for name, column in columns.items()])
        lists = {name: python_values(column) for name, column in columns.items()}
        rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        if not rows:
            return []  # no schema is registered for none
        if schema not in self._framed:
            self._framed[schema] = self._subject.framed(schema)
        framed = self._framed[schema]
        keys = values_of_column(columns[key]) if key is not None else [None] * len(rows)
        made = []
        for number, (row, own) in enumerate(zip(rows, keys, strict=True)):
            try:
                value: bytes | Unfit = framed.prefix + framed.encoder.encode(row)
            except UnfitError as problem:
                one = {name: column.slice(number, 1) for name, column in columns.items()}
                value = Unfit(str(problem), as_json(json_rows(one)[0]))
            made.append({_KEY: own, _VALUE: value})
        return made

    def key_of(self, row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401, ARG002 - of JSON
        """The field, as JSON has it."""
        return row[_KEY]

    def value_of(self, row: Mapping[str, Any]) -> bytes | Unfit:
        """The message in its framing."""
        found: bytes | Unfit = row[_VALUE]
        return found

    def shown(self, value: bytes) -> str:
        """The message as JSON."""
        framed = next(one for one in self._framed.values() if value.startswith(one.prefix))
        message = framed.encoder.make()
        message.ParseFromString(value[len(framed.prefix) :])
        return MessageToJson(message, preserving_proto_field_name=True)


def as_json(value: object) -> str:
    """A text of JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
