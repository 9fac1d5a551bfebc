"""What a catalogue knows of a table, whichever catalogue it is. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lake_assets.model.tables import Layer

PREFIX = "lake_assets."
"""How the names of our properties begin; others belong to whoever wrote them."""

LAKE = f"{PREFIX}lake"
"""Id of the lake that registered an entry: nobody else's is changed or dropped."""

FEED, KEY, LAYER = f"{PREFIX}feed", f"{PREFIX}key", f"{PREFIX}layer"
OWNER = f"{PREFIX}owner"
UPSTREAM = f"{PREFIX}upstream"
SOURCE = f"{PREFIX}source"
PARTITIONED_BY = f"{PREFIX}partitioned_by"

GRANTED_TO = f"{PREFIX}granted_to"
"""Whom the lake lets read the table, with commas between."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogColumn:
    """A column of a registered table."""

    name: str

    type: str
    """In Spark's words: `bigint`, `array<string>`."""

    comment: str = ""

    field: str = field(default="", compare=False)
    """The same as Delta writes it, JSON; empty of what was read from a catalogue."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogTable:
    """A table, as it should be registered or as it is."""

    database: str
    name: str
    columns: tuple[CatalogColumn, ...] = ()

    location: str = ""
    """`file:///…`, `s3://…`; encoded, without a slash at its end."""

    comment: str = ""

    properties: Mapping[str, str] = field(default_factory=dict)
    """Ours alone, which begin with `PREFIX`."""

    @property
    def full_name(self) -> str:
        """As a query names it, without what is around the database."""
        return f"{self.database}.{self.name}"

    @property
    def place(self) -> tuple[str, str]:
        """Where it is, as catalogues tell names apart: they know no case."""
        return self.database.lower(), self.name.lower()

    @property
    def lake(self) -> str:
        """The id of the lake that it is of; empty if it is no lake's."""
        return self.properties.get(LAKE, "")

    @property
    def comes_from(self) -> str:
        """Of which tables, or of which source, its rows are; empty if that is not told."""
        upstream = whole_property(self.properties, UPSTREAM)
        return upstream or self.properties.get(SOURCE, "")


def whole_property(properties: Mapping[str, str], name: str) -> str:
    """A property, which a catalogue may have in parts: `name`, `name.2` and so on."""
    found, part = [properties.get(name, "")], 2
    while f"{name}.{part}" in properties:
        found.append(properties[f"{name}.{part}"])
        part += 1
    return "".join(found)


def in_parts(properties: Mapping[str, str], longest: int) -> dict[str, str]:
    """Properties whose values have so many characters at most; `whole_property` reads them."""
    return {
        name if not start else f"{name}.{start // longest + 1}": value[start : start + longest]
        for name, value in sorted(properties.items())
        for start in range(0, len(value), longest)
    }


def database_of(pattern: str, layer: Layer) -> str:
    """Where the tables of a layer are registered, by `LAKE_ASSETS_CATALOG_DATABASES`."""
    return pattern.replace("{layer}", layer.value)


def own(properties: Mapping[str, str]) -> dict[str, str]:
    """Those of some properties that are ours."""
    return {name: value for name, value in properties.items() if name.startswith(PREFIX)}


def shortened(text: str, most: int) -> str:
    """A text of so many characters at most, which says if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
