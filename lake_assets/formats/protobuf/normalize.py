"""Messages that `ptars` reads otherwise than protobuf's rules say, found and rewritten.

They are valid and rare: serialized messages joined to one, or writers that are not google's. Of two
members of a oneof the last holds, of two entries of a map with one key too, and an entry without
its message has an empty one. google.protobuf knows all that, and what it writes `ptars` reads
alike; so such messages go through it, and no other does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from lake_assets.formats.protobuf.decoders import HEADER, descriptor_of
from lake_assets.formats.protobuf.messages import WELL_KNOWN, is_map

_Rows: TypeAlias = npt.NDArray[np.int64]

_NONE: _Rows = np.empty(0, np.int64)


_FEW_ENTRIES = 16
"""Entries of a map up to which each is compared with each; sorting costs as much as about that."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What to look at in the columns of a message, at any depth."""

    oneofs: tuple[tuple[str, ...], ...] = ()
    """The members of each oneof that has two at least."""

    maps: tuple[str, ...] = ()

    within: tuple[tuple[str, "Checks"], ...] = ()
    """Fields that are messages, lists of messages or maps to messages, if there is more there."""

    has_message_maps: bool = False
    """Whether some map has messages, at any depth: `ptars` fails where an entry lacks its own."""

    @property
    def is_idle(self) -> bool:
        """Whether `ptars` can read no such message wrongly."""
        return not (self.oneofs or self.maps or self.within)


@dataclass(frozen=True, slots=True)
class Normal:
    """How messages of one type are found and rewritten; made once a process."""

    checks: Checks
    message: str
    descriptor_set: bytes

    def rewrite(self, framed: bytes) -> bytes | None:
        """A message framed in the shortest way, as google.protobuf writes what it reads.

        Returns:
            None if google.protobuf refuses it. It reads all of a message, where `ptars` leaves out
            what makes no column.
        """
        kind = _class_of(self.message, self.descriptor_set)
        try:
            read = kind.FromString(framed[HEADER:])
        except DecodeError:
            return None
        return framed[:HEADER] + read.SerializePartialToString()

    def differing(self, decoded: pa.RecordBatch) -> _Rows:
        """Rows that `ptars` did not read as protobuf does, in ascending order."""
        if self.checks.is_idle:
            return _NONE
        columns = dict(zip(decoded.schema.names, decoded.columns, strict=True))
        return _unique(_differing(columns, self.checks))


@lru_cache(maxsize=128)
def normal_of(message: str, descriptor_set: bytes) -> Normal:
    """How messages of a type are rewritten.

    Raises:
        SchemaUnusableError: google.protobuf refuses the schema.
    """
    checks = _checks(descriptor_of(message, descriptor_set), frozenset())
    return Normal(checks, message, descriptor_set)


@lru_cache(maxsize=128)
def _class_of(message: str, descriptor_set: bytes) -> type[Message]:
    return GetMessageClass(descriptor_of(message, descriptor_set))


def _checks(descriptor: Descriptor, above: frozenset[str]) -> Checks:
    """What to look at; a message within itself is `binary` to `ptars`, and not looked into."""
    oneofs = [[field.name for field in oneof.fields] for oneof in descriptor.oneofs]
    maps = [field for field in descriptor.fields if is_map(field)]
    above |= {descriptor.full_name}
    within = [
        (field.name, checks)
        for field, inner in _messages(descriptor)
        if inner.full_name not in above
        for checks in [_checks(inner, above)]
        if not checks.is_idle
    ]
    has_own = any(_value_of(field).message_type is not None for field in maps)
    return Checks(
        oneofs=tuple(tuple(names) for names in oneofs if len(names) > 1),
        maps=tuple(field.name for field in maps),
        within=tuple(within),
        has_message_maps=has_own or any(checks.has_message_maps for _, checks in within),
    )


def _messages(descriptor: Descriptor) -> Iterator[tuple[FieldDescriptor, Descriptor]]:
    for field in descriptor.fields:
        inner = _value_of(field).message_type if is_map(field) else field.message_type
        if inner is not None and not inner.full_name.startswith(WELL_KNOWN):
            yield field, inner


def _value_of(field: FieldDescriptor) -> FieldDescriptor:
    assert field.message_type is not None  # noqa: S101 - a map is an entry's message
    return field.message_type.fields_by_name["value"]


def _differing(columns: dict[str, pa.Array], checks: Checks) -> list[_Rows]:
    differing = [_two_members([columns[name] for name in names]) for names in checks.oneofs]
    differing += [_two_entries(columns[name]) for name in checks.maps]
    for name, inner in checks.within:
        array, parents = columns[name], None
        if pa.types.is_list(array.type) or pa.types.is_map(array.type):
            parents = array.offsets.to_numpy()
            array = array.items if pa.types.is_map(array.type) else array.values
        if not pa.types.is_struct(array.type):
            continue
        fields = {field.name: array.field(index) for index, field in enumerate(array.type)}
        rows = _unique(_differing(fields, inner))
        differing.append(rows if parents is None else _parents(parents, rows))
    return differing


def _two_members(members: list[pa.Array]) -> _Rows:
    """Rows in which several members of a oneof are set."""
    used = [array for array in members if array.null_count < len(array)]
    if len(used) < 2 or sum(len(member) - member.null_count for member in used) < 2:  # noqa: PLR2004 - two
        return _NONE
    count = np.zeros(len(used[0]), np.int64)
    for array in used:
        count += array.is_valid().to_numpy(zero_copy_only=False)
    return np.flatnonzero(count > 1)


def _two_entries(array: pa.MapArray) -> _Rows:
    """Rows whose map has a key twice."""
    offsets = array.offsets.to_numpy()
    lengths = np.diff(offsets)
    most = lengths.max(initial=0)
    if most <= 1:
        return _NONE
    keys = array.keys[offsets[0] : offsets[-1]].dictionary_encode().indices.to_numpy()
    rows = np.repeat(np.arange(len(lengths)), lengths)
    if most > _FEW_ENTRIES:
        order = np.lexsort((keys, rows))
        keys, rows, most = keys[order], rows[order], 2
    repeated = [
        rows[step:][(keys[step:] == keys[:-step]) & (rows[step:] == rows[:-step])]
        for step in range(1, most)
    ]
    return _unique(repeated)


def _parents(offsets: _Rows, items: _Rows) -> _Rows:
    """The lists or maps that items are in."""
    return np.searchsorted(offsets, items, side="right") - 1


def _unique(found: list[_Rows]) -> _Rows:
    some = [rows for rows in found if len(rows)]
    return np.unique(np.concatenate(some)) if some else _NONE
