"""What stands beside a column: values of types that it does not hold. Pure.

A field that had one type when it came keeps that type's column. What later versions bring beside it
is read of the same bytes once more, into a column of its own. Which types these are is
`union_branches`' to say.
"""

from dataclasses import replace

from lake_assets.formats.avro.columns import type_of
from lake_assets.formats.avro.schema import OWN, Field, Fill, Type
from lake_assets.formats.avro.union_branches import placed
from lake_assets.formats.avro.walk import width_of

OTHER_TYPES = "_other_types"
"""What the name of such a column has more than the other's."""

ITEMS = "_items"
"""What it has before that where the types are those of an array's items or of a map's values."""


def beside(name: str) -> str:
    """What a name has at its end if it is a column's for other types; empty if it is none."""
    rest = name.removesuffix(OTHER_TYPES)
    if rest == name:
        return ""
    while rest.endswith(ITEMS):
        rest = rest.removesuffix(ITEMS)
    return name[len(rest) :]


def with_columns(kind: Type) -> Type:
    """A type as it is read for its column, with what is read for others in `extras`.

    Args:
        kind: with the members' names, and what is filled in.
    """
    fills = tuple(
        Fill(column=name, type=read, default=one.default)
        for one in kind.fills
        for name, read in with_columns(one.type).parts(one.column)
        if type_of(read) is not None
    )
    made = replace(
        kind,
        fields=tuple(map(_field, kind.fields)),
        inner=tuple(map(with_columns, kind.inner)),
        fills=fills,
    )
    if kind.kind in {"array", "map"}:
        more = ((f"{ITEMS}{name}", _of_items(made, one)) for name, one in made.inner[0].extras)
        made = replace(made, extras=tuple(more))
    if kind.kind == "union":
        return _union(made)
    if not kind.members:
        return made
    plain = replace(made, members=(), beside=False)
    only = Type(kind="only", inner=(plain,), members=kind.members)
    if not kind.beside:
        return only
    return replace(plain, skipped=(0,), extras=((OTHER_TYPES, only),))


def _field(one: Field) -> Field:
    made = with_columns(one.type)
    if _is_nothing(made):
        # Null whether another version has such a column by now or not.
        made = replace(made, skipped=tuple(range(max(1, len(made.inner)))))
    return replace(one, type=made)


def _is_nothing(kind: Type) -> bool:
    """Whether a writer's values have nothing that is in a column, and its readers add nothing."""
    if kind.kind == "record":
        return not kind.fills and all(
            _is_nothing(read) for one in kind.fields for _, read in one.type.parts(one.column)
        )
    if kind.kind == "null" or (kind.skipped and kind.kind != "union"):
        return True
    if kind.kind == "array" and not width_of(kind.inner[0]):
        return True  # such items are not read
    if kind.kind in {"array", "map", "union", "only"}:
        read = (one for place, one in enumerate(kind.inner) if place not in kind.skipped)
        return all(map(_is_nothing, read))
    return False


def _of_items(kind: Type, item: Type) -> Type:
    return replace(kind, inner=(item,), extras=())


def _union(kind: Type) -> Type:
    if kind.members and not kind.beside:
        return kind
    names = [name for name, _ in placed(kind)]
    own = tuple(place for place, name in enumerate(names) if name == OWN)
    others = tuple(place for place, name in enumerate(names) if name not in {OWN, ""})
    extras = [
        (more, _only_branch(kind, place, one))
        for place in own
        for more, one in kind.inner[place].extras
    ]
    if others:
        members = tuple("" if name == OWN else name for name in names)
        extras.append((OTHER_TYPES, replace(kind, members=members, beside=False)))
    return replace(kind, members=(), beside=False, skipped=others, extras=tuple(extras))


def _only_branch(kind: Type, place: int, read: Type) -> Type:
    inner = (*kind.inner[:place], read, *kind.inner[place + 1 :])
    skipped = tuple(one for one in range(len(inner)) if one != place)
    return replace(kind, members=(), beside=False, skipped=skipped, inner=inner)
