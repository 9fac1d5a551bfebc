"""Which column each field of each version has: the same one for a field that was renamed. Pure.

A field is that of the next newer version that has its name as an alias, or that is called so; its
column is named as the newest version names it. Which types of unions are the same in several
versions is `union_branches`' to say.
"""

from collections.abc import Sequence
from dataclasses import replace

from lake_assets.formats.avro.other_types import with_columns
from lake_assets.formats.avro.schema import Field, Fill, Type
from lake_assets.formats.avro.union_branches import Members, branches_of, counterparts, placed


def named(versions: Sequence[Type], numbers: Sequence[int] = ()) -> list[Type]:
    """Records with the names of columns, of a union's members, and what readers fill in.

    What stands beside a column is among its type's `extras`.

    Args:
        versions: a record of each version, the one whose names hold first, then newest first.
        numbers: of the versions, where that is not the order of their age: types of unions are
            counted from the lowest number on.
    """
    done: list[Type] = []
    for version in versions:
        done.append(_named(version, done))
    ages = numbers or range(len(done), 0, -1)
    members = Members()
    numbered = {
        place: members.applied(done[place], ())
        for place in sorted(range(len(done)), key=lambda place: ages[place])
    }
    return [with_columns(_filled(numbered[place], numbered[0])) for place in range(len(done))]


def _named(kind: Type, newer: Sequence[Type]) -> Type:
    """With columns' names.

    Args:
        kind: a type of a version.
        newer: what stands in its place in newer versions, nearest last.
    """
    if kind.kind == "union":
        found: list[list[Type]] = [[] for _ in kind.inner]
        for other in newer:
            for own, its in counterparts(kind.inner, branches_of(other)).items():
                found[own].append(its)
        pairs = zip(kind.inner, found, strict=True)
        return replace(kind, inner=tuple(_named(one, same) for one, same in pairs))
    same = [its for other in newer for its in counterparts([kind], branches_of(other)).values()]
    if kind.kind in {"array", "map"}:
        return replace(kind, inner=(_named(kind.inner[0], [one.inner[0] for one in same]),))
    if kind.kind == "record":
        names = {one.name for one in kind.fields}
        return replace(kind, fields=tuple(_field(one, names, same) for one in kind.fields))
    return kind


def _field(one: Field, siblings: set[str], records: Sequence[Type]) -> Field:
    column, found = one.name, None
    for record in reversed(records):
        found = _match(one.name, siblings, record)
        if found is not None:
            column = found.column
            break
    # Two fields of a writer are never one column: the one of the column's own name has it.
    if column != one.name and column in siblings:
        column, found = one.name, None
    same = [
        other.type
        for record in records
        for other in record.fields
        if found is not None and other.column == column
    ]
    return replace(one, column=column, type=_named(one.type, same))


def _match(name: str, siblings: set[str], record: Type) -> Field | None:
    """The reader's field for a writer's: with its name as an alias, or of the same name.

    Aliases come first, as the specification has the writer's schema rewritten by them;
    but a writer that has the newer field, too, has both.
    """
    aliased = (one for one in record.fields if name in one.aliases and one.name not in siblings)
    same = (one for one in record.fields if one.name == name)
    return next(aliased, None) or next(same, None)


def _filled(kind: Type, reader: Type) -> Type:
    """With the defaults of the reader's fields that the writer lacks."""
    theirs = placed(reader)

    def branch(name: str, one: Type) -> Type:
        others = [its for its_name, its in theirs if its_name == name and its.kind != "null"]
        same = counterparts([one], others).get(0)
        return one if same is None else _filled_from(one, same)

    made = tuple(branch(name, one) for name, one in placed(kind))
    return replace(kind, inner=made) if kind.kind == "union" else made[0]


def _filled_from(kind: Type, same: Type) -> Type:
    if kind.kind in {"array", "map"}:
        return replace(kind, inner=(_filled(kind.inner[0], same.inner[0]),))
    if kind.kind != "record":
        return kind
    theirs = {one.column: one for one in same.fields}
    fields = tuple(
        replace(one, type=_filled(one.type, theirs[one.column].type))
        if one.column in theirs
        else one
        for one in kind.fields
    )
    own = {one.column for one in kind.fields}
    fills = tuple(
        Fill(column=one.column, type=one.type, default=one.default)
        for one in same.fields
        if one.column not in own and one.default is not None and one.default != "null"
    )
    return replace(kind, fields=fields, fills=fills)
