"""What the registry said and the columns that the tables have, settled into a `Decoding`: pure.

Every version decodes its own messages, so a value is what its writer meant, and null where the
writer knew no such field. Names are the newest version's, by field number. Docs:
`docs/decisions/0005-every-version-decodes-its-own.md`.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from lake_assets.decode.columns import columns
from lake_assets.decode.handlers import descriptor_of, handler_of
from lake_assets.decode.merge import Mismatch, merge
from lake_assets.decode.messages import messages_of, reads_alike, renamed
from lake_assets.decode.schemas import FIRST, Decoding, Path, Reader, SchemaSet
from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.model.quarantine import Reason

_Pair: TypeAlias = tuple[int, Path]


def settle(schemas: SchemaSet, have: pa.Schema) -> Decoding:
    """Decide which rows can be decoded, by what, and which columns the tables need for them.

    Columns come from the newest version and from the messages that were met. Another version whose
    columns are all there is ready, too; of the rest nothing is decided before rows name them, so
    that fields removed long ago make no columns.

    Args:
        schemas: what the registry said, and what was met.
        have: the decoded columns that the tables have; empty if there are none yet. They stay, even
            where no version has such a field any more.

    Raises:
        RegistryError: there are no columns yet, and no version makes some.
    """
    same = merge(have, have)
    assert not isinstance(same, Mismatch)  # noqa: S101 - nothing differs from itself
    work = _Work(schemas, same)
    by_age = sorted(schemas.versions, key=lambda one: schemas.versions[one].number, reverse=True)
    for schema_id in by_age:
        work.open(schema_id)
    for schema_id in by_age:
        if work.newest is None and schema_id in work.messages:
            work.adopt_newest(schema_id)
    for schema_id in by_age:
        for path in sorted(path for one, path in schemas.met if one == schema_id):
            work.adopt(schema_id, path)
    for schema_id in by_age:
        work.adopt(schema_id, work.main_of(schema_id), only_if_ready=True)
    if not work.columns.names:
        raise work.nothing(by_age)
    return Decoding(
        subject=schemas.subject,
        columns=work.columns,
        readers=tuple(work.readers),
        places=work.places,
        refusals=work.refusals,
        messages={one: frozenset(found) for one, found in work.messages.items()},
        unusable=work.unusable,
        unknown_ids=schemas.unknown_ids,
        foreign_ids=schemas.foreign_ids,
        waiting_ids=schemas.waiting_ids,
        is_flooded=schemas.is_flooded,
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """The version whose names hold."""

    schema_id: int
    main: Path
    descriptor_set: bytes
    messages: frozenset[str]


@dataclass(slots=True)
class _Work:
    schemas: SchemaSet
    columns: pa.Schema
    newest: _Names | None = None
    readers: dict[Reader, int] = field(default_factory=dict)
    places: dict[_Pair, int] = field(default_factory=dict)
    refusals: dict[_Pair, tuple[Reason, str]] = field(default_factory=dict)
    messages: dict[int, dict[Path, str]] = field(default_factory=dict)
    unusable: dict[int, str] = field(default_factory=dict)

    def open(self, schema_id: int) -> None:
        """Look at the messages of a version, and refuse those that the feed does not take."""
        version, wanted = self.schemas.versions[schema_id], self.schemas.message
        found = messages_of(version.descriptor_set) if not version.problem else {}
        if not found:
            problem = version.problem or "defines no message"
            self.unusable[schema_id] = f"version {version.number} {problem}"
            return
        self.messages[schema_id] = found
        for path, name in found.items():
            if wanted is not None and name != wanted:
                said = f"message {name}, and the feed takes {wanted}"
                self.refusals[schema_id, path] = Reason.FOREIGN_MESSAGE, said

    def main_of(self, schema_id: int) -> Path | None:
        """Where a version's message for the feed stands, if it has one."""
        found = self.messages.get(schema_id, {})
        if self.schemas.message is None:
            return FIRST if found else None
        return next((path for path, name in found.items() if name == self.schemas.message), None)

    def adopt_newest(self, schema_id: int) -> None:
        """Let the names of a version hold, if its rows fit the tables."""
        main = self.main_of(schema_id)
        if main is None:
            return
        names = frozenset(self.messages[schema_id].values())
        descriptor_set = self.schemas.versions[schema_id].descriptor_set
        self.newest = _Names(schema_id, main, descriptor_set, names)
        self.adopt(schema_id, main)
        if (schema_id, main) not in self.places:
            self.newest = None

    def adopt(self, schema_id: int, path: Path | None, *, only_if_ready: bool = False) -> None:
        """Find a reader for a message and make its columns ours, or note why that cannot be."""
        pair = (schema_id, path or ())
        if path not in self.messages.get(schema_id, {}) or pair in self.refusals | self.places:
            return
        version = self.schemas.versions[schema_id]
        try:
            reader, own = self._reader(schema_id, path or ())
        except SchemaUnusableError as problem:
            said = f"{problem.thing} of version {version.number} {problem.fact}"
            self.refusals[pair] = Reason.INCOMPATIBLE_SCHEMA, said
            return
        merged = merge(self.columns, own)
        if isinstance(merged, Mismatch):
            said = merged.in_words(version.number)
            self.refusals[pair] = Reason.INCOMPATIBLE_SCHEMA, said
        elif merged == self.columns or not only_if_ready:
            self.columns = merged
            self.places[pair] = self.readers.setdefault(reader, len(self.readers))

    def nothing(self, by_age: list[int]) -> RegistryError:
        """Why there are no columns: what is wrong with the newest version."""
        subject = f"subject {self.schemas.subject!r}"
        if not by_age:
            return RegistryError(subject, "has no version", "Register one")
        newest = by_age[0]
        said = self.unusable.get(newest) or self._refused(newest)
        return SchemaUnusableError(subject, said, "Register a corrected version")

    def _refused(self, schema_id: int) -> str:
        version = self.schemas.versions[schema_id].number
        main = self.main_of(schema_id)
        if main is None:
            return f"version {version} has no message {self.schemas.message}"
        return self.refusals[schema_id, main][1]

    def _reader(self, schema_id: int, path: Path) -> tuple[Reader, pa.Schema]:
        name = self.messages[schema_id][path]
        version = self.schemas.versions[schema_id]
        raw = handler_of(name, version.descriptor_set).schema()
        twin = self._twin(schema_id, path, name)
        if twin is None or self.newest is None:
            plain = Reader(message=name, descriptor_set=version.descriptor_set)
            return plain, columns(name, raw)
        own = descriptor_of(name, version.descriptor_set)
        if reads_alike(own, twin):
            message, descriptor_set = twin.full_name, self.newest.descriptor_set
            reader = Reader(message=message, descriptor_set=descriptor_set)
            return reader, columns(message, handler_of(message, descriptor_set).schema())
        named = renamed(raw, own, twin)
        reader = Reader(
            message=name,
            descriptor_set=version.descriptor_set,
            named=None if named == raw else named,
        )
        return reader, columns(name, named)

    def _twin(self, schema_id: int, path: Path, name: str) -> Descriptor | None:
        """The newest version of a message."""
        if self.newest is None:
            return None
        if name not in self.newest.messages:
            if path != self.main_of(schema_id):
                return None
            name = self.schemas.message or self.messages[self.newest.schema_id][self.newest.main]
        return descriptor_of(name, self.newest.descriptor_set)
