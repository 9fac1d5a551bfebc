"""Which names fields had in older versions: named records in, older and newest names out. Pure.

Columns have a name that was the newest when they were made. What was stored under a name that meant
different fields in different versions cannot be told apart by names, and is left alone.
"""

from collections import defaultdict
from collections.abc import Sequence

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.avro.schema import Type
from lake_assets.formats.avro.union_branches import is_struct


def renames_of(versions: Sequence[Type]) -> Renames:
    """The fields' newest names by older ones, at any depth.

    A name counts if it stood for one column in all versions that have it, and if the newest name
    did, too, so that a row has the field's value under one of the two.

    Args:
        versions: a type of each version in one place, named by `naming.named`.
    """
    meant: dict[str, set[str]] = defaultdict(set)
    within: dict[str, list[Type]] = defaultdict(list)
    for record in (one for version in versions for one in _records(version)):
        for field in record.fields:
            meant[field.name].add(field.column)
            within[field.column].append(field.type)
    unions = [one for version in versions for one in _unions(version)]
    for union in unions:
        for member, branch in zip(union.members, union.inner, strict=True):
            if member:
                within[member].append(branch)
    inner = {name: renames_of(types) for name, types in within.items()}
    now = {
        old: column
        for old, columns in meant.items()
        if len(columns) == 1
        and (column := next(iter(columns))).lower() != old.lower()
        and meant.get(column) == {column}
    }
    return Renames(now=now, within={name: renames for name, renames in inner.items() if renames})


def _records(kind: Type) -> list[Type]:
    """The records that a value of a type is, or has as items; not those within a struct."""
    if kind.kind == "record":
        return [kind]
    if is_struct(kind):
        return []
    return [found for one in kind.inner for found in _records(one)]


def _unions(kind: Type) -> list[Type]:
    """The unions that are structs, likewise."""
    if is_struct(kind):
        return [kind]
    return [] if kind.kind == "record" else [f for one in kind.inner for f in _unions(one)]
