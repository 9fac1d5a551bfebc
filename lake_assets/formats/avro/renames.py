"""Which names fields had in older versions: named records in, older and newest names out. Pure.

Columns have a name that was the newest when they were made. What was stored under a name that meant
different fields in different versions cannot be told apart by names, and is left alone.
"""

from collections import defaultdict
from collections.abc import Sequence

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.avro.schema import Type


def renames_of(versions: Sequence[Type]) -> Renames:
    """The fields' newest names by older ones, at any depth.

    A name counts if it stood for one column in all versions that have it, and if the newest name
    did, too, so that a row has the field's value under one of the two.

    Args:
        versions: a type of each version in one place, named by `naming.named`.
    """
    meant: dict[str, set[str]] = defaultdict(set)
    within: dict[str, list[Type]] = defaultdict(list)
    beside: dict[str, set[str]] = defaultdict(set)
    fields = [
        field for version in versions for record in _records(version) for field in record.fields
    ]
    for field in fields:
        beside[field.column].update(more for more, _ in field.type.extras)
        for name, read in field.type.parts(field.column):
            within[name].append(read)
    for field in fields:
        # What stands beside a column goes with it, also in versions that have none of it.
        for more in ("", *beside[field.column]):
            meant[f"{field.name}{more}"].add(f"{field.column}{more}")
    for union in (one for version in versions for one in _unions(version)):
        for member, branch in zip(union.members, union.inner, strict=True):
            for name, read in branch.parts(member) if member else ():
                within[name].append(read)
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
    if kind.members:
        return []
    read = (one for place, one in enumerate(kind.inner) if place not in kind.skipped)
    return [found for one in read for found in _records(one)]


def _unions(kind: Type) -> list[Type]:
    """The unions that are structs, likewise."""
    if kind.members:
        return [kind]
    return [] if kind.kind == "record" else [f for one in kind.inner for f in _unions(one)]
