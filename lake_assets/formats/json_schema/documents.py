"""A registered JSON Schema document and those that it refers to; where a `$ref` leads. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from lake_assets.errors import SchemaUnusableError

_STEP = "Register a version that is valid"


@dataclass(frozen=True, slots=True)
class Place:
    """A schema, and the document that it stands in."""

    document: str
    """Its name; empty is the registered one itself."""

    schema: Any


@dataclass(frozen=True, slots=True)
class Documents:
    """A document, and by name all that it refers to, directly or not."""

    by_name: Mapping[str, Any]

    @property
    def root(self) -> Place:
        """The registered document itself."""
        return Place("", self.by_name[""])

    def follow(self, ref: Any, document: str) -> Place | None:  # noqa: ANN401 - whatever it says
        """Where a `$ref` of a document leads; None if nowhere that is known."""
        if not isinstance(ref, str):
            return None
        address, fragment = urldefrag(ref)
        name = self._name_of(address, document)
        if name is None:
            return None
        return _below(name, self.by_name[name], unquote(fragment))

    def _name_of(self, address: str, document: str) -> str | None:
        """The document that an address means, by the name of a reference or its own `$id`."""
        base = _id_of(self.by_name[document])
        whole = urljoin(base, address)
        if not address or urldefrag(base)[0] == whole:
            return document
        ids = {urldefrag(_id_of(one))[0]: name for name, one in self.by_name.items()}
        for name in (address, whole, ids.get(whole)):
            if name is not None and name in self.by_name:
                return name
        return None


def compile_documents(thing: str, text: str, imports: Mapping[str, str]) -> bytes:
    """A document and all that it refers to, as one JSON text; `parse` reads it.

    Args:
        thing: what is compiled, for the error.
        text: of the document.
        imports: by name, the text of all that it refers to.

    Raises:
        SchemaUnusableError: one of them is no JSON.
    """
    documents = {name: _loaded(thing, one) for name, one in {**imports, "": text}.items()}
    return json.dumps(documents, sort_keys=False).encode()


def parse(compiled: bytes) -> Documents:
    """What `compile_documents` made."""
    return Documents(json.loads(compiled))


def _loaded(thing: str, text: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as problem:
        fact = f"is no JSON ({problem})"
        raise SchemaUnusableError(thing, fact, _STEP) from problem
    if not isinstance(loaded, dict | bool):
        raise SchemaUnusableError(thing, "is no JSON Schema: it is no object", _STEP)
    return loaded


def _id_of(document: Any) -> str:  # noqa: ANN401 - any JSON
    if not isinstance(document, dict):
        return ""
    found = document.get("$id", document.get("id", ""))
    return found if isinstance(found, str) else ""


def _below(name: str, document: Any, fragment: str) -> Place | None:  # noqa: ANN401 - any JSON
    if fragment and not fragment.startswith("/"):
        found = next((one for one in _schemas_in(document) if _is_anchored(one, fragment)), None)
        return None if found is None else Place(name, found)
    for part in fragment.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and key in document:
            document = document[key]
        elif isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return Place(name, document)


def _is_anchored(schema: Mapping[str, Any], anchor: str) -> bool:
    return anchor in {schema.get("$anchor"), str(schema.get("$id", "")).removeprefix("#")}


def _schemas_in(document: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - any JSON
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
