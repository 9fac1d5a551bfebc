"""What a worker must know of a feed's schemas to decode its rows: picklable nouns.

`decoding_plan` makes them of what the registry said.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.confluent.schemas import Path
from lake_assets.model.quarantine import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """How rows of some schema ids become columns."""

    message: str
    """Full name."""

    descriptor_set: bytes

    kind: str = ""
    """Full name of the message's type, the newest one if it was renamed."""

    named: pa.Schema | None = None
    """What the decoder gives, under the names that the newest version has for the same field
    numbers; None where these are its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoding:
    """All that decoding depends on, beside a row's bytes."""

    subject: str

    columns: pa.Schema
    """Columns of the decoded rows, all nullable."""

    readers: tuple[Reader, ...]

    places: Mapping[tuple[int, Path], int]
    """By schema id and message: which of `readers`."""

    refusals: Mapping[tuple[int, Path], tuple[Reason, str]]
    """By schema id and message: why such rows are refused."""

    messages: Mapping[int, frozenset[Path]]
    """By schema id: which messages there are. An id whose version cannot be used at all has none,
    and stands in `unusable`."""

    unused: pa.Schema = field(default_factory=lambda: pa.schema([]))
    """Further columns that messages would make which no row has used yet. No table has them;
    conditions may read them as nulls."""

    renames: Renames = field(default_factory=Renames)
    """Older names of the columns' fields, under which rows may have been stored."""

    message_columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By message type, the columns of those of its versions that rows may have."""

    unusable: Mapping[int, str] = field(default_factory=dict)
    """By schema id: why all its rows are refused."""

    unknown_ids: frozenset[int] = frozenset()
    foreign_ids: frozenset[int] = frozenset()
    waiting_ids: frozenset[int] = frozenset()
    is_flooded: bool = False
