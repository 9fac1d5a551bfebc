"""What is kept of a feed's schemas over time, and what is new in it: frozen nouns and a comparison.

Where it is kept is `logs.schema_log`'s; why a column is there, `formats.column_reasons`'.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum


class Why(StrEnum):
    """Why a column is as it is."""

    DECLARED = "declared"  # the feed says so
    INFERRED = "inferred"  # rows had such values
    REGISTRY = "registry"  # a registered version of the schema has it
    TRANSFORMED = "transformed"  # the feed's `transform` gives it
    SELECTED = "selected"  # the feed's `select` names or computes it
    FOUND = "found"  # the table has it, and nothing that is known now says why
    DROPPED = "dropped"  # the table has it no more


@dataclass(frozen=True, slots=True)
class Reason:
    """Why, and by which version of a registered schema."""

    why: Why
    version: int | None = None
    schema_id: int | None = None
    subject: str | None = None
    """Under which the version is registered; None of what earlier releases noted."""

    field: str | None = None
    """The schema's field, where the column has another name since the field's type does not go with
    the column of its name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredVersion:
    """A version of a schema as the registry had it."""

    version: int
    schema_id: int
    schema: bytes
    """What decoders are made from."""

    note: str = ""
    """Why it cannot be used, if so."""

    subject: str = ""
    """Under which it is registered; empty of one that an earlier release noted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaEntry:
    """One change: of a column of a key's silver table, or a version that became known."""

    key: str | None
    """None of a version, which is of all keys."""

    column: str | None
    type: str | None
    """As Spark SQL names it; None if the column is gone."""

    before: str | None = None
    """Likewise what it was; None if there was none."""

    reason: Reason
    schema: bytes | None = None
    note: str | None = None
    """Of a version why it cannot be used; of a column which field it is, if it has another name."""

    at: datetime | None = None
    """When it was noticed; None of one that is not kept yet."""

    @property
    def registered(self) -> RegisteredVersion | None:
        """The version that became known, if it is about one."""
        version, schema_id = self.reason.version, self.reason.schema_id
        if self.key is not None or version is None or schema_id is None or self.schema is None:
            return None
        return RegisteredVersion(
            version=version,
            schema_id=schema_id,
            schema=self.schema,
            note=self.note or "",
            subject=self.reason.subject or "",
        )


def changes(
    kept: Iterable[SchemaEntry],
    columns: Mapping[str, Mapping[str, str]],
    versions: Sequence[RegisteredVersion],
    reason_of: Callable[[str, str], Reason],
) -> list[SchemaEntry]:
    """What entries lack of the columns that tables have, and of the versions that are known.

    Args:
        kept: entries of a feed, in any order.
        columns: by key, the type of each column of its table; other keys are left alone.
        versions: that are known.
        reason_of: tells why a column is there, by its name and type.
    """
    entries = _by_time(kept)
    types: dict[tuple[str, str], str | None] = {}
    known = set()
    for entry in entries:
        if entry.key is not None and entry.column is not None:
            types[entry.key, entry.column] = entry.type
        else:
            why = entry.reason
            known.add((why.subject or "", why.version, why.schema_id, entry.schema))
    new = [
        SchemaEntry(
            key=None,
            column=None,
            type=None,
            reason=Reason(Why.REGISTRY, one.version, one.schema_id, one.subject or None),
            schema=one.schema,
            note=one.note or None,
        )
        for one in sorted(versions, key=lambda one: (one.subject, one.version))
        if known.isdisjoint(
            (subject, one.version, one.schema_id, one.schema) for subject in (one.subject, "")
        )
    ]
    for key, now in columns.items():
        for name, kind in now.items():
            before = types.get((key, name))
            if before != kind:
                reason = reason_of(name, kind)
                new.append(_entry(key, name, kind, before, reason))
        gone = [name for owner, name in types if owner == key and name not in now]
        new += [
            _entry(key, name, None, types[key, name], Reason(Why.DROPPED))
            for name in gone
            if types[key, name] is not None
        ]
    return new


def selected_alone(kept: Iterable[SchemaEntry]) -> frozenset[str]:
    """The columns that tables have, each of them because a `select` made it there.

    Args:
        kept: entries of a feed, in any order.
    """
    last = {
        (entry.key, entry.column): entry
        for entry in _by_time(kept)
        if entry.key is not None and entry.column is not None
    }
    there = [entry for entry in last.values() if entry.type is not None and entry.column]
    others = {entry.column for entry in there if entry.reason.why is not Why.SELECTED}
    return frozenset(e.column for e in there if e.column is not None and e.column not in others)


def _by_time(kept: Iterable[SchemaEntry]) -> list[SchemaEntry]:
    return sorted(kept, key=lambda entry: entry.at.timestamp() if entry.at else 0.0)


def _entry(
    key: str, column: str, kind: str | None, before: str | None, reason: Reason
) -> SchemaEntry:
    note = None
    if reason.field is not None:
        note = f"its field {reason.field}, of another type than the column {reason.field}"
    told = replace(reason, field=None)
    return SchemaEntry(key=key, column=column, type=kind, before=before, reason=told, note=note)
