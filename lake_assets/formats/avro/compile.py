"""Schema text to what is kept of it: one JSON text with all references, their names full."""

import json
from collections.abc import Mapping
from typing import Any

import fastavro

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.avro.defaults import check
from lake_assets.formats.avro.schema import parse
from lake_assets.formats.confluent.schemas import Version
from lake_assets.model.avro_json import without_defaults

_NEXT_STEP = "Register a corrected version"

_NOTES = frozenset({"__fastavro_parsed", "__named_schemas"})


def compile_schema(thing: str, text: str, imports: Mapping[str, str]) -> bytes:
    """What `schema.parse` takes.

    Args:
        thing: whose schema this is, for the error.
        text: of the schema.
        imports: by name, the text of what it refers to, before what refers to that in turn.

    Raises:
        SchemaUnusableError: it is no valid Avro, or makes no columns.
    """
    types: dict[str, Any] = {}
    try:
        for imported in imports.values():
            fastavro.parse_schema(json.loads(imported), types)
        root = fastavro.parse_schema(json.loads(text), types)
        compiled = json.dumps({"root": _clean(root), "types": _clean(types)}).encode()
        check(parse(compiled))
    except SchemaUnusableError as problem:
        raise SchemaUnusableError(thing, problem.fact, _NEXT_STEP) from problem
    except RecursionError as problem:
        raise SchemaUnusableError(thing, "is nested too deeply", _NEXT_STEP) from problem
    except Exception as problem:
        # fastavro raises what Python does at a schema of the wrong shape: KeyError, TypeError, …
        what = f"{type(problem).__name__}: {problem}"
        raise SchemaUnusableError(thing, f"is no valid Avro ({what})", _NEXT_STEP) from problem
    return compiled


def brought_version(number: int, text: str) -> Version:
    """A schema that rows brought, without its defaults if one of them is no value of its type."""
    thing = f"schema {number} of the files"
    try:
        return Version(number=number, descriptor_set=compile_schema(thing, text, {}))
    except SchemaUnusableError as problem:
        fact = problem.fact
    try:
        plain = json.dumps(without_defaults(json.loads(text)))
        return Version(number=number, descriptor_set=compile_schema(thing, plain, {}))
    except (SchemaUnusableError, RecursionError):
        return Version(number=number, problem=fact)


def _clean(found: Any) -> Any:  # noqa: ANN401 - JSON
    """Without what fastavro notes for itself."""
    if isinstance(found, dict):
        return {name: _clean(one) for name, one in found.items() if name not in _NOTES}
    return [_clean(one) for one in found] if isinstance(found, list) else found
