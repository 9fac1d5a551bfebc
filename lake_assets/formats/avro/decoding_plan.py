"""What the registry said and the columns that the tables have, settled into a `Decoding`: pure.

A row is read with the schema of its writer, and resolved to what its readers want as Avro's
specification says. The reader is all versions together, the newest one leading: names and defaults
are its own, types the widest of all.
Docs: `docs/decisions/0055-avro-is-read-column-by-column.md`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.delta.rounded_columns import rounded_columns
from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.formats.avro import single_object
from lake_assets.formats.avro.columns import columns
from lake_assets.formats.avro.naming import named
from lake_assets.formats.avro.renames import renames_of
from lake_assets.formats.avro.schema import Type, parse
from lake_assets.formats.confluent.framing import START
from lake_assets.formats.confluent.schemas import FIRST, SchemaSet
from lake_assets.formats.schema_merge import Mismatch, in_words, merge


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """All that decoding depends on, beside a row's bytes: picklable."""

    subject: str

    columns: pa.Schema
    """Columns of the decoded rows, all nullable."""

    header: int = START
    """Bytes that each value has before its datum."""

    readers: Mapping[int, Type] = field(default_factory=dict)
    """By schema id: the record of its writer, with the columns that its fields become."""

    open_ids: frozenset[int] = frozenset()
    """Ids of usable versions with columns of their own that no row has named yet."""

    renames: Renames = field(default_factory=Renames)
    """Older names of the columns' fields, under which rows may have been stored."""

    message_columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By record, the columns of those of its versions that rows may have."""

    unusable: Mapping[int, str] = field(default_factory=dict)
    """By schema id: why all its rows are refused."""

    unknown_ids: frozenset[int] = frozenset()
    foreign_ids: frozenset[int] = frozenset()
    waiting_ids: frozenset[int] = frozenset()
    is_flooded: bool = False


def plan_decoding(
    schemas: SchemaSet, have: pa.Schema, route: str | None = None, *, are_brought: bool = False
) -> Decoding:
    """Decide which rows can be decoded, and which columns the tables need for them.

    The newest version makes its columns before any row has come. An older one makes those that it
    has beside them when the first row of it comes, so that fields removed long ago make none.

    Args:
        schemas: what the registry said, and which versions' rows were met.
        have: the decoded columns that the tables have; empty if there are none yet. They stay.
        route: column that says where a row goes; None takes all.
        are_brought: whether rows bring their schemas, in the single-object encoding. Then there
            may be no columns before there are rows.

    Raises:
        RegistryError: there are no columns yet, and no version can make some.
    """
    same = merge(have, have)
    assert not isinstance(same, Mismatch)  # noqa: S101 - nothing differs from itself
    plan = _Work(schemas, route, same)
    plan.elect()
    for schema_id in plan.versions:
        if (schema_id, FIRST) in schemas.met:
            plan.adopt(schema_id)
    for schema_id in plan.versions:
        plan.adopt(schema_id, only_if_ready=True)
    if not plan.columns.names and not plan.readers and not are_brought:
        raise plan.nothing()
    return Decoding(
        subject=schemas.subject,
        columns=plan.columns,
        header=single_object.START if are_brought else START,
        readers=plan.readers,
        message_columns={name: frozenset(names) for name, names in plan.own.items()},
        open_ids=frozenset(plan.versions) - plan.readers.keys() - plan.unusable.keys(),
        renames=renames_of(list(plan.versions.values())),
        unusable=plan.unusable,
        unknown_ids=schemas.unknown_ids,
        foreign_ids=schemas.foreign_ids,
        waiting_ids=schemas.waiting_ids,
        is_flooded=schemas.is_flooded,
    )


def made_by(schemas: SchemaSet, route: str | None = None) -> list[pa.Schema]:
    """The columns that the newest version makes, and each whose rows were met.

    Unlike what `plan_decoding` finds they need not go together, nor with any table.
    """
    plan = _Work(schemas, route, pa.schema([]))
    plan.elect()
    met = [one for schema_id, one in plan.versions.items() if (schema_id, FIRST) in schemas.met]
    leading = [plan.versions[schema_id] for schema_id in plan.readers]
    made = (plan.made(one) for one in [*leading, *met])
    return [one for one in made if isinstance(one, pa.Schema)]


@dataclass(slots=True)
class _Work:
    schemas: SchemaSet
    route: str | None
    columns: pa.Schema
    versions: dict[int, Type] = field(default_factory=dict)
    """The usable ones by schema id, the leading one first, whose names hold."""

    readers: dict[int, Type] = field(default_factory=dict)
    unusable: dict[int, str] = field(default_factory=dict)
    own: dict[str, set[str]] = field(default_factory=dict)
    """By record, its columns."""

    def elect(self) -> None:
        """Find the newest version whose rows fit the tables: it leads, and its columns are ours."""
        parsed = self._parsed()
        while parsed:
            order = self._in_order(parsed)
            numbers = [self.schemas.versions[one].number for one in order]
            made = named([parsed[one] for one in order], numbers)
            self.versions = dict(zip(order, made, strict=True))
            leader = order[0]
            self.adopt(leader)
            if leader in self.readers:
                return
            del parsed[leader]
        self.versions = {}

    def adopt(self, schema_id: int, *, only_if_ready: bool = False) -> None:
        """Make a version's columns ours, or note why that cannot be."""
        if schema_id in self.readers or schema_id in self.unusable:
            return
        record, number = self.versions[schema_id], self.schemas.versions[schema_id].number
        own = self.made(record)
        if isinstance(own, str):
            self.unusable[schema_id] = f"record {record.name} of version {number} {own}"
            return
        merged = merge(self.columns, own, promotes=True)
        if isinstance(merged, Mismatch):
            self.unusable[schema_id] = merged.in_words(number)
        elif names := self.schemas.unrounded.intersection(rounded_columns(self.columns, merged)):
            self.unusable[schema_id] = self._rounded(min(names), own, number)
        elif merged == self.columns or not only_if_ready:
            self.columns = merged
            self.readers[schema_id] = record
            filled = (fill.column for fill in record.fills)
            self.own.setdefault(record.name, set()).update(own.names, filled)

    def _in_order(self, ids: Collection[int]) -> list[int]:
        """The versions newest first, but what was deleted after the newest of the others last."""
        known = self.schemas.versions
        listed = [known[one].number for one in ids if not known[one].is_deleted]
        newest = max(listed, default=max(known[one].number for one in ids))
        return sorted(ids, key=lambda one: (known[one].number > newest, -known[one].number))

    def _rounded(self, name: str, own: pa.Schema, number: int) -> str:
        """Why a version's fractions are not taken."""
        came, have = (in_words(one.field(name).type) for one in (own, self.columns))
        fact = f"field {name} is {came} in version {number}, and the column stays {have}"
        return f"{fact}: a double may not hold its values, or another process writes them"

    def made(self, record: Type) -> pa.Schema | str:
        """The columns of a version, or why it makes none."""
        try:
            own = columns(record)
        except SchemaUnusableError as problem:
            return problem.fact
        if self.route is None:
            return own
        filled = {fill.column for fill in record.fills}
        if self.route not in own.names and self.route not in filled:
            return f"has no field {self.route}, which says where a row goes"
        if self.route in own.names and _is_no_text(own.field(self.route).type):
            return f"has a field {self.route} that is no text, and it says where a row goes"
        return own

    def nothing(self) -> RegistryError:
        """Why there are no columns: what is wrong with the newest version."""
        subject = f"subject {self.schemas.subject!r}"
        if not self.schemas.versions:
            return RegistryError(subject, "has no version", "Register one")
        newest = max(self.schemas.versions, key=lambda one: self.schemas.versions[one].number)
        step = "Register a corrected version, or correct the feed's subject or route"
        return SchemaUnusableError(subject, self.unusable[newest], step)

    def _parsed(self) -> dict[int, Type]:
        """The records of the versions by schema id, newest first; others are noted as unusable."""
        found: dict[int, Type] = {}
        ids = sorted(
            self.schemas.versions, key=lambda one: self.schemas.versions[one].number, reverse=True
        )
        for schema_id in ids:
            version = self.schemas.versions[schema_id]
            if version.problem:
                self.unusable[schema_id] = f"version {version.number} {version.problem}"
                continue
            try:
                found[schema_id] = parse(version.descriptor_set)
            except SchemaUnusableError as problem:
                self.unusable[schema_id] = f"version {version.number} {problem.fact}"
        return found


def _is_no_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_temporal(kind))
