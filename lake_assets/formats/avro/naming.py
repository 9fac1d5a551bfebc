"""Which column each field of each version has: the same one for a field that was renamed. Pure.

A field is that of the next newer version that has its name as an alias, or that is called so; its
column is named as the newest version names it. Types of unions are told by what they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lake_assets.formats.avro.schema import Field, Fill, Type

Place: TypeAlias = tuple[str, ...]


def named(versions: Sequence[Type]) -> list[Type]:
    """Records with the names of columns, of a union's members, and what readers fill in.

    Args:
        versions: a record of each version, newest first.
    """
    done: list[Type] = []
    for version in versions:
        done.append(_named(version, done))
    members = _Members()
    for version in reversed(done):
        members.number(version, ())
    numbered = [members.applied(version, ()) for version in done]
    return [_filled(version, numbered[0]) for version in numbered] if numbered else []


def _named(kind: Type, newer: Sequence[Type]) -> Type:
    """With columns' names.

    Args:
        kind: a type of a version.
        newer: what stands in its place in newer versions, nearest last.
    """
    if kind.kind == "union":
        inner = (_named(one, list(_counterparts(one, newer))) for one in kind.inner)
        return replace(kind, inner=tuple(inner))
    if kind.kind in {"array", "map"}:
        same = [one.inner[0] for one in _counterparts(kind, newer)]
        return replace(kind, inner=(_named(kind.inner[0], same),))
    if kind.kind == "record":
        records = list(_counterparts(kind, newer))
        names = {one.name for one in kind.fields}
        return replace(kind, fields=tuple(_field(one, names, records) for one in kind.fields))
    return kind


def _counterparts(kind: Type, others: Sequence[Type]) -> Iterator[Type]:
    """Of other versions' types, or of their unions' branches, those that are the same."""
    for other in others:
        branches = other.inner if other.kind == "union" else (other,)
        same = [one for one in branches if one.kind == kind.kind]
        by_name = [one for one in same if one.name == kind.name]
        if by_name or len(same) == 1:
            yield (by_name or same)[0]


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


@dataclass(slots=True)
class _Members:
    """The types of unions, by where they stand, in the order in which versions brought them."""

    found: dict[Place, list[str]] = field(default_factory=dict)

    def number(self, kind: Type, place: Place) -> None:
        """Note the types of a version's unions; to be called with the oldest version first."""
        if is_struct(kind):
            there = self.found.setdefault(place, [])
            there += [sign for one in kind.branches if (sign := _sign(one)) not in there]
        for below, inner in _below(kind, place):
            self.number(inner, below)

    def applied(self, kind: Type, place: Place) -> Type:
        """With the members' names."""
        members: tuple[str, ...] = ()
        if is_struct(kind):
            there = self.found[place]
            members = tuple(
                "" if one.kind == "null" else f"member{there.index(_sign(one))}"
                for one in kind.inner
            )
        fields = tuple(
            replace(one, type=self.applied(one.type, (*place, one.column))) for one in kind.fields
        )
        inner = tuple(
            self.applied(one, below)
            for one, below in zip(kind.inner, _places(kind, place), strict=True)
        )
        return replace(kind, members=members, fields=fields, inner=inner)


def is_struct(kind: Type) -> bool:
    """Whether a union becomes a struct: of one type it is that type, of two numbers the wider."""
    kinds = {one.kind for one in kind.branches}
    is_number = kinds in ({"int", "long"}, {"float", "double"}) and not any(
        one.logical for one in kind.branches
    )
    return kind.kind == "union" and len(kind.branches) > 1 and not is_number


def _below(kind: Type, place: Place) -> Iterator[tuple[Place, Type]]:
    for one in kind.fields:
        yield (*place, one.column), one.type
    yield from zip(_places(kind, place), kind.inner, strict=True)


def _places(kind: Type, place: Place) -> list[Place]:
    if kind.kind == "union":
        return [(*place, _sign(one)) if is_struct(kind) else place for one in kind.inner]
    return [(*place, "[]") for _ in kind.inner]


def _sign(kind: Type) -> str:
    """What tells a union's types apart in other versions: a named type keeps its name."""
    return f"{kind.kind} {kind.name.rpartition('.')[2]} {kind.logical}"


def _filled(kind: Type, reader: Type) -> Type:
    """With the defaults of the reader's fields that the writer lacks."""
    same = next(_counterparts(kind, [reader]), None) if kind.kind != "union" else reader
    if same is None:
        return kind
    if kind.kind == "union":
        return replace(kind, inner=tuple(_filled(one, reader) for one in kind.inner))
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
