"""What of a JSON Schema is a type that columns can have. Pure.

Only what says how a value is built counts: `type`, `properties`, `items`, `format` and how schemas
are put together. Bounds and patterns are the producers' and the registry's business. What cannot be
read, or is of several types, is text: nothing is refused for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.json.inference import ADDABLE
from lake_assets.formats.json.values import ANY_VALUE
from lake_assets.formats.json_schema.documents import Documents, Place
from lake_assets.formats.json_schema.joined_types import Kind, both, either

_MOST_SCHEMAS = 20_000
"""Schemas that are looked at for a version, each as often as it is referred to. Documents that
people write have hundreds; some that refer to themselves have no end."""

_DEEPEST = 50
"""Levels of types. Readers of Parquet nest themselves for each."""

_FORMATS = {"date-time": pa.timestamp("us", tz="UTC"), "date": pa.date32()}

_SCALARS = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}

_OF_OBJECTS = {"properties", "additionalProperties", "patternProperties"}
_OF_ARRAYS = {"items", "prefixItems"}


def type_of(documents: Documents) -> Kind:
    """The type of the values that a document describes.

    Raises:
        SchemaUnusableError: it refers to so many schemas that no table could have them.
    """
    return _Reader(documents).kind(documents.root, ())


@dataclass(slots=True)
class _Reader:
    documents: Documents
    looked_at: int = field(default=0)

    def kind(self, place: Place, above: tuple[int, ...]) -> Kind:
        """The type of a schema; text where it is in itself, or too deep.

        Args:
            place: the schema.
            above: the schemas that it is in, by identity.
        """
        self.looked_at += 1
        if self.looked_at > _MOST_SCHEMAS:
            fact = (
                f"has more than {_MOST_SCHEMAS} schemas, those counted again that are referred to"
            )
            raise SchemaUnusableError("the document", fact, "Register a smaller one")
        schema = place.schema
        if schema is False:
            return None
        if not isinstance(schema, dict) or id(schema) in above or len(above) > _DEEPEST:
            return ANY_VALUE
        inner = (*above, id(schema))
        parts = [self._own(schema, place.document, inner)]
        if "$ref" in schema:
            found = self.documents.follow(schema["$ref"], place.document)
            parts.append(ANY_VALUE if found is None else self.kind(found, inner))
        parts += self._each(schema.get("allOf"), place.document, inner)
        for word in ("anyOf", "oneOf"):
            if branches := self._each(schema.get(word), place.document, inner):
                parts.append(reduce(either, branches))
        return reduce(both, parts)

    def _each(self, schemas: object, document: str, above: tuple[int, ...]) -> list[Kind]:
        some = schemas if isinstance(schemas, list) else []
        return [self.kind(Place(document, one), above) for one in some]

    def _own(self, schema: Mapping[str, Any], document: str, above: tuple[int, ...]) -> Kind:
        """What a schema itself says, without those that it is put together of."""
        names = _names(schema)
        if names is None:
            return ANY_VALUE
        kinds = (self._named(name, schema, document, above) for name in names)
        return reduce(either, kinds, None)

    def _named(
        self, name: str, schema: Mapping[str, Any], document: str, above: tuple[int, ...]
    ) -> Kind:
        if name == "object":
            return self._object(schema, document, above)
        if name == "array":
            return self._array(schema, document, above)
        if name == "string":
            is_bytes = schema.get("contentEncoding") == "base64"
            of_format = _FORMATS.get(_text(schema.get("format")), pa.string())
            return pa.binary() if is_bytes else of_format
        return _SCALARS.get(name, ANY_VALUE)

    def _object(self, schema: Mapping[str, Any], document: str, above: tuple[int, ...]) -> Kind:
        fields: dict[str, pa.DataType] = {}
        properties = schema.get("properties")
        for name, one in properties.items() if isinstance(properties, dict) else ():
            kind = self.kind(Place(document, one), above)
            twins = {other.lower() for other in fields}
            if kind is not None and ADDABLE.fullmatch(name) and name.lower() not in twins:
                fields[name] = kind
        if fields:
            return pa.struct(list(fields.items()))
        if properties:
            return ANY_VALUE
        others = [schema.get("additionalProperties"), *_values(schema.get("patternProperties"))]
        kinds = [self.kind(Place(document, one), above) for one in others if isinstance(one, dict)]
        item = reduce(either, kinds, None)
        return ANY_VALUE if item is None else pa.map_(pa.string(), item)

    def _array(self, schema: Mapping[str, Any], document: str, above: tuple[int, ...]) -> Kind:
        items = schema.get("items")
        if not isinstance(items, dict) or "prefixItems" in schema:
            return ANY_VALUE  # of any items, or of one by one
        item = self.kind(Place(document, items), above)
        return ANY_VALUE if item is None else pa.list_(pa.field("item", item))


def _names(schema: Mapping[str, Any]) -> list[str] | None:
    """Names of the types that a schema's values may have, null aside; None if it does not say."""
    named = schema.get("type")
    if isinstance(named, str | list):
        names = [named] if isinstance(named, str) else named
        return [name for name in map(_text, names) if name != "null"]
    if "const" in schema or isinstance(schema.get("enum"), list):
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return _names_of(values)
    if _OF_OBJECTS & schema.keys():
        return ["object"]
    return ["array"] if _OF_ARRAYS & schema.keys() else None


def _names_of(values: Iterable[Any]) -> list[str] | None:
    """The types of listed values; None if some are objects or arrays."""
    words = {str: "string", bool: "boolean", int: "integer", float: "number"}
    kinds = {type(value) for value in values if value is not None}
    return None if kinds - words.keys() else sorted(words[kind] for kind in kinds)


def _values(found: object) -> list[Any]:
    return list(found.values()) if isinstance(found, dict) else []


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""
