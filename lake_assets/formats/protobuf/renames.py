"""Which names a message's fields had in older versions: descriptors in, older and newest names out.

Columns have a name that was the newest when they were made. What was stored under a name that
meant different fields in different versions cannot be told apart by names, and is left alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.protobuf.messages import WELL_KNOWN, is_map, twin_of

_Pairs: TypeAlias = Sequence[tuple[Descriptor, Descriptor]]


def renames_of(pairs: _Pairs) -> Renames:
    """The fields' newest names by older ones, at any depth.

    A name counts if it stood for one field in all versions that have it, and if the newest name
    did, too, so that a row has the field's value under one of the two.

    Args:
        pairs: a message of each version, and the version of the same message whose names hold; the
            latter also beside itself. May be of several messages that share a table.
    """
    return _renames(pairs, frozenset())


def _renames(pairs: _Pairs, above: frozenset[str]) -> Renames:
    meant: dict[str, set[str | None]] = defaultdict(set)
    within: dict[str, list[tuple[Descriptor, Descriptor]]] = defaultdict(list)
    above |= {newest.full_name for _, newest in pairs}
    for own, newest in pairs:
        for field in own.fields:
            twin = twin_of(field, newest)
            meant[field.name].add(None if twin is None else twin.name)
            if twin is not None:
                within[twin.name] += _inner(field, twin, above)
    inner = {
        name: _renames(descriptors, above) for name, descriptors in within.items() if descriptors
    }
    return Renames(
        now={old: now for old, targets in meant.items() for now in _now(old, targets, meant)},
        within={name: renames for name, renames in inner.items() if renames},
    )


def _now(old: str, targets: set[str | None], meant: dict[str, set[str | None]]) -> Iterator[str]:
    """The one newest name of all fields that were called `old`, if it is another."""
    now = next(iter(targets))
    if len(targets) == 1 and now is not None and now.lower() != old.lower() and meant[now] == {now}:
        yield now


def _inner(
    own: FieldDescriptor, newest: FieldDescriptor, above: frozenset[str]
) -> list[tuple[Descriptor, Descriptor]]:
    """The messages that two versions of a field hold, if they are the user's own."""
    if is_map(own) != is_map(newest):
        return []
    before, now = _message(own), _message(newest)
    if before is None or now is None or now.full_name in above:
        return []
    is_own = not any(descriptor.full_name.startswith(WELL_KNOWN) for descriptor in (before, now))
    return [(before, now)] if is_own else []


def _message(field: FieldDescriptor) -> Descriptor | None:
    if not is_map(field):
        return field.message_type
    entry = field.message_type
    assert entry is not None  # noqa: S101 - a map is an entry's message
    return entry.fields_by_name["value"].message_type
