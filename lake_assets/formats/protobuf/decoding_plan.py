"""What the registry said and the columns that the tables have, settled into a `Decoding`: pure.

Every version decodes its own messages, so a value is what its writer meant, and null where the
writer knew no such field. Names are those of the newest version of a message, by field number.
Docs: `docs/decisions/0005-every-version-decodes-its-own.md`,
`docs/decisions/0020-columns-of-types-that-rows-use.md`.
"""

from dataclasses import dataclass, field

import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.formats.confluent.schemas import Path, SchemaSet
from lake_assets.formats.protobuf.candidates import Candidates, Pair, candidates, is_text
from lake_assets.formats.protobuf.columns import columns
from lake_assets.formats.protobuf.decoders import descriptor_of, handler_of
from lake_assets.formats.protobuf.decoding import Decoding, Reader
from lake_assets.formats.protobuf.messages import messages_of, reads_alike, renamed
from lake_assets.formats.protobuf.renames import renames_of
from lake_assets.formats.schema_merge import Mismatch, merge
from lake_assets.model.quarantine import Reason


def plan_decoding(
    schemas: SchemaSet, have: pa.Schema, route: str | None = None, *, may_be_none: bool = False
) -> Decoding:
    """Decide which rows can be decoded, by what, and which columns the tables need for them.

    Rows may be of any message that has the route's column. Columns come from those that were met;
    where only one type is possible, from its newest version before any row has come. A version
    whose columns are all there is ready, too; of the rest nothing is decided before rows name them,
    so that neither fields removed long ago nor messages that nobody sends make columns.

    Args:
        schemas: what the registry said, and what was met.
        have: the decoded columns that the tables have; empty if there are none yet. They stay, even
            where no version has such a field any more.
        route: column that says where a row goes; None takes all messages.
        may_be_none: whether there may be no columns before there are rows, which bring schemas.

    Raises:
        RegistryError: there are no columns yet, and no version can make some.
    """
    same = merge(have, have)
    assert not isinstance(same, Mismatch)  # noqa: S101 - nothing differs from itself
    by_age = _by_age(schemas)
    plan = _begun(schemas, same, route)
    for schema_id in by_age:
        for path in sorted(path for met_id, path in schemas.met if met_id == schema_id):
            plan.adopt((schema_id, path))
    for pair in plan.all_pairs():
        plan.adopt(pair, only_if_ready=True)
    if not plan.columns.names and not plan.leaders and not may_be_none:
        raise plan.nothing(by_age)
    return Decoding(
        subject=schemas.subject,
        columns=plan.columns,
        unused=plan.unused(),
        renames=plan.renames(),
        readers=tuple(plan.readers),
        places=plan.places,
        refusals=plan.refusals,
        messages={version_id: frozenset(paths) for version_id, paths in plan.messages.items()},
        message_columns={name: frozenset(names) for name, names in plan.own.items()},
        unusable=plan.unusable,
        unknown_ids=schemas.unknown_ids,
        foreign_ids=schemas.foreign_ids,
        waiting_ids=schemas.waiting_ids,
        is_flooded=schemas.is_flooded,
    )


def made_by(schemas: SchemaSet, route: str | None = None) -> list[pa.Schema]:
    """The columns that each message makes which rows may have: its newest version, and those met.

    Unlike what `plan_decoding` finds they need not go together, nor with any table.
    """
    plan = _begun(schemas, pa.schema([]), route)
    newest = [leader.columns for leader in plan.leaders.values()]
    return [*newest, *(own for pair in schemas.met for own in plan.made(pair))]


def _by_age(schemas: SchemaSet) -> list[int]:
    """Schema ids, of the newest version first."""
    return sorted(schemas.versions, key=lambda one: schemas.versions[one].number, reverse=True)


def _begun(schemas: SchemaSet, have: pa.Schema, route: str | None) -> "_Work":
    plan = _Work(schemas, route, have)
    for schema_id in _by_age(schemas):
        plan.open(schema_id)
    plan.elect()
    return plan


@dataclass(frozen=True, slots=True)
class _Leader:
    """The version of a message whose names hold."""

    pair: Pair
    message: str
    descriptor_set: bytes
    columns: pa.Schema

    @property
    def descriptor(self) -> Descriptor:
        return descriptor_of(self.message, self.descriptor_set)


@dataclass(slots=True)
class _Work:
    schemas: SchemaSet
    route: str | None
    columns: pa.Schema
    candidates: Candidates = field(default_factory=Candidates)
    leaders: dict[str, _Leader] = field(default_factory=dict)
    readers: dict[Reader, int] = field(default_factory=dict)
    places: dict[Pair, int] = field(default_factory=dict)
    refusals: dict[Pair, tuple[Reason, str]] = field(default_factory=dict)
    messages: dict[int, dict[Path, str]] = field(default_factory=dict)
    unusable: dict[int, str] = field(default_factory=dict)
    own: dict[str, set[str]] = field(default_factory=dict)
    """By message type, its columns."""

    def open(self, schema_id: int) -> None:
        """Look at the messages of a version, and refuse those that the feed does not take."""
        version, message = self.schemas.versions[schema_id], self.schemas.message
        messages = messages_of(version.descriptor_set) if not version.problem else {}
        if not messages:
            problem = version.problem or "defines no message"
            self.unusable[schema_id] = f"version {version.number} {problem}"
            return
        self.messages[schema_id] = messages
        for path, name in messages.items():
            if message is not None and name != message:
                detail = f"message {name}, and the feed takes {message}"
                self.refusals[schema_id, path] = Reason.FOREIGN_MESSAGE, detail

    def elect(self) -> None:
        """Find the newest version of each message whose rows fit the tables: its names hold."""
        self.candidates = candidates(self.schemas, self.messages, self.route)
        for name, pairs in self.candidates.types.items():
            fitting = (leader for pair in pairs if (leader := self._leader(pair)) is not None)
            leader = next(fitting, None)
            if leader is not None:
                self.leaders[name] = leader
        if len(self.candidates.types) == 1:
            for leader in self.leaders.values():
                self.adopt(leader.pair)
        for pair, detail in self.candidates.refused.items():
            if self._leader_of(pair) is None:
                self.refusals[pair] = Reason.FOREIGN_MESSAGE, detail

    def all_pairs(self) -> list[Pair]:
        """All messages of all versions, newest first."""
        return [(schema_id, path) for schema_id, paths in self.messages.items() for path in paths]

    def adopt(self, pair: Pair, *, only_if_ready: bool = False) -> None:
        """Find a reader for a message and make its columns ours, or note why that cannot be."""
        schema_id, path = pair
        is_judged = pair in self.refusals or pair in self.places
        if is_judged or path not in self.messages.get(schema_id, {}):
            return
        version = self.schemas.versions[schema_id]
        try:
            reader, own = self._reader(pair)
        except SchemaUnusableError as problem:
            detail = f"{problem.thing} of version {version.number} {problem.fact}"
            self.refusals[pair] = Reason.INCOMPATIBLE_SCHEMA, detail
            return
        if not self._is_routable(own):
            detail = (
                f"message {reader.message} of version {version.number} has no field {self.route}"
            )
            detail = self.candidates.refused.get(pair) or f"{detail} under the newest names"
            self.refusals[pair] = Reason.FOREIGN_MESSAGE, detail
            return
        merged = merge(self.columns, own)
        if isinstance(merged, Mismatch):
            detail = merged.in_words(version.number)
            self.refusals[pair] = Reason.INCOMPATIBLE_SCHEMA, detail
        elif merged == self.columns or not only_if_ready:
            self.columns = merged
            self.places[pair] = self.readers.setdefault(reader, len(self.readers))
            self.own.setdefault(reader.kind, set()).update(own.names)

    def unused(self) -> pa.Schema:
        """What the newest versions have beyond the columns, as far as they go together."""
        whole = self.columns
        for leader in self.leaders.values():
            merged = merge(whole, leader.columns)
            whole = whole if isinstance(merged, Mismatch) else merged
        return pa.schema([column for column in whole if column.name not in self.columns.names])

    def made(self, pair: Pair) -> list[pa.Schema]:
        """The columns of a message, if rows may have it."""
        schema_id, path = pair
        if path not in self.messages.get(schema_id, {}) or pair in self.refusals:
            return []
        try:
            own = self._reader(pair)[1]
        except SchemaUnusableError:
            return []
        return [own] if self._is_routable(own) else []

    def renames(self) -> Renames:
        """Under which names fields stood before."""
        taken = [pair for pair in self.all_pairs() if pair not in self.refusals]
        pairs = [(pair, leader) for pair in taken if (leader := self._leader_of(pair))]
        return renames_of([(self._descriptor(pair), leader.descriptor) for pair, leader in pairs])

    def nothing(self, by_age: list[int]) -> RegistryError:
        """Why there are no columns: what is wrong with the newest version."""
        subject = f"subject {self.schemas.subject!r}"
        if not by_age:
            return RegistryError(subject, "has no version", "Register one")
        newest = by_age[0]
        fact = self.unusable.get(newest) or self._refused(newest)
        step = "Register a corrected version, or correct the feed's message or route"
        return SchemaUnusableError(subject, fact, step)

    def _refused(self, schema_id: int) -> str:
        version, wanted = self.schemas.versions[schema_id].number, self.schemas.message
        messages = self.messages[schema_id]
        taken = [(schema_id, path) for path, name in messages.items() if wanted in {None, name}]
        if not taken:
            return f"version {version} has no message {wanted}"
        refused = [self.refusals[pair] for pair in taken]
        details = [detail for reason, detail in refused if reason is Reason.INCOMPATIBLE_SCHEMA]
        return details[0] if details else refused[0][1]

    def _descriptor(self, pair: Pair) -> Descriptor:
        schema_id, path = pair
        arguments = self.messages[schema_id][path], self.schemas.versions[schema_id].descriptor_set
        return descriptor_of(*arguments)

    def _leader(self, pair: Pair) -> _Leader | None:
        schema_id, path = pair
        name = self.messages[schema_id][path]
        descriptor_set = self.schemas.versions[schema_id].descriptor_set
        try:
            own = columns(name, handler_of(name, descriptor_set).schema())
        except SchemaUnusableError:
            return None
        if not self._is_routable(own) or isinstance(merge(self.columns, own), Mismatch):
            return None
        return _Leader(pair, name, descriptor_set, own)

    def _leader_of(self, pair: Pair) -> _Leader | None:
        """The version of the same message whose names hold."""
        name = self.messages[pair[0]][pair[1]]
        return self.leaders.get(self.candidates.names.get(name, name))

    def _is_routable(self, own: pa.Schema) -> bool:
        if self.route is None:
            return True
        return self.route in own.names and is_text(own.field(self.route).type)

    def _reader(self, pair: Pair) -> tuple[Reader, pa.Schema]:
        name = self.messages[pair[0]][pair[1]]
        version = self.schemas.versions[pair[0]]
        raw = handler_of(name, version.descriptor_set).schema()
        leader, kind = self._leader_of(pair), self.candidates.names.get(name, name)
        if leader is None:
            plain = Reader(message=name, descriptor_set=version.descriptor_set, kind=kind)
            return plain, columns(name, raw)
        if version.number > self.schemas.versions[leader.pair[0]].number:
            columns(name, raw)  # what it cannot make under its own names is refused
        own = self._descriptor(pair)
        if reads_alike(own, leader.descriptor):
            of_leader = leader.message, leader.descriptor_set
            reader = Reader(message=of_leader[0], descriptor_set=of_leader[1], kind=kind)
            return reader, leader.columns
        named = renamed(raw, own, leader.descriptor)
        reader = Reader(
            message=name,
            descriptor_set=version.descriptor_set,
            kind=kind,
            named=None if named == raw else named,
        )
        return reader, columns(name, named)
