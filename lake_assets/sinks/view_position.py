"""What the table of a sink's deliveries records of a view, as Delta's application transactions.

Before a batch's first call it is recorded from which versions to which it goes: whoever gets its
rows may have them although nothing else was recorded, so that no later batch may begin from the
same versions with others as its end. Which versions are done is `sinks.deliveries`'.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from lake_assets.delta.commit import Batch
from lake_assets.delta.increments import Point
from lake_assets.model.tables import TableRef
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.gained import digest_number

_TIME = "lake_assets:sink-time"
_SHARE, _SHARES = "lake_assets:sink-share", "lake_assets:sink-shares"
_BEGUN = "lake_assets:sink-begun"
_TABLE, _KEY = "lake_assets:sink-table", "lake_assets:sink-key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Begun:
    """A batch that was begun."""

    number: int
    time_us: int
    """By which its rows are newer than those of all batches before: microseconds since 1970, of the
    newest of its versions, or one after the last batch's, if a clock was set back."""

    key: int
    """By which columns its rows are told apart (`key_number`); 0 if it is not known."""

    until: Mapping[TableRef, Point] = field(default_factory=dict)
    """By table of it, the version that it goes to."""

    share: int = 0
    """Which part of the rows it has, by their keys' hashes; others are batches of their own."""

    shares: int = 1


def table_number(table_id: str) -> int:
    """Delta's id of a table, as one of its transactions holds a number."""
    return digest_number(table_id.replace("-", ""))


def key_number(key: Sequence[str]) -> int:
    """The columns that tell a table's rows apart, as one of Delta's transactions holds a number."""
    return digest_number(blake2b(json.dumps(list(key)).encode()).hexdigest())


def last_time_us(deliveries: Deliveries) -> int:
    """The time of the newest batch; 0 without one."""
    return deliveries.told(_TIME) or 0


def table_of(deliveries: Deliveries, table: TableRef) -> int | None:
    """Of which table the version is that is done, as `table_number`; None if none is."""
    return deliveries.told(f"{_TABLE}:{table.relative}")


def key_of(deliveries: Deliveries, table: TableRef) -> int | None:
    """By which columns rows of the version that is done were told apart, if it is known."""
    return deliveries.told(f"{_KEY}:{table.relative}")


def begun_in(deliveries: Deliveries, tables: Iterable[TableRef]) -> Begun | None:
    """The batch that was begun and is not done; None if there is none."""
    number = deliveries.batch + 1
    until = {}
    for table in tables:
        name = table.relative
        version = deliveries.told(f"{_BEGUN}-version:{name}")
        if version is None or deliveries.told(f"{_BEGUN}-batch:{name}") != number:
            continue
        digest = deliveries.told(f"{_BEGUN}-digest:{name}") or 0
        until[table] = Point(version=version, digest=f"{digest:x}")
    if not until:
        return None
    return Begun(
        number=number,
        time_us=last_time_us(deliveries),
        key=deliveries.told(_KEY) or 0,
        until=until,
        share=deliveries.told(_SHARE) or 0,
        shares=deliveries.told(_SHARES) or 1,
    )


def is_unsure(deliveries: Deliveries, table: TableRef) -> bool:
    """Whether a batch was begun with a table that ended without it: some of its rows may be sent.

    Of a table of the batch that is begun now it says nothing.
    """
    name, done = table.relative, deliveries.point_of(table.relative)
    version = deliveries.told(f"{_BEGUN}-version:{name}")
    digest = deliveries.told(f"{_BEGUN}-digest:{name}")
    return version is not None and (version, digest) != (done.version, digest_number(done.digest))


def begin_notes(begun: Begun, unknown: Iterable[TableRef] = ()) -> list[Batch]:
    """What is recorded before a batch's first call.

    Of `unknown` tables all rows are sent, also if the batch is cut off and done once more.
    """
    notes = [
        Batch(_TIME, begun.time_us),
        Batch(_SHARE, begun.share),
        Batch(_SHARES, begun.shares),
        Batch(_KEY, begun.key),
    ]
    for table, until in begun.until.items():
        notes += [
            Batch(f"{_BEGUN}-version:{table.relative}", until.version),
            Batch(f"{_BEGUN}-digest:{table.relative}", digest_number(until.digest)),
            Batch(f"{_BEGUN}-batch:{table.relative}", begun.number),
        ]
    return notes + [Batch(f"{_TABLE}:{table.relative}", table_number("")) for table in unknown]


def done_notes(table_ids: Mapping[TableRef, str], key: int) -> list[Batch]:
    """What is recorded with a batch that is done, beside its versions.

    Args:
        table_ids: of its tables.
        key: by which columns their rows were told apart (`key_number`).
    """
    notes = []
    for table, table_id in table_ids.items():
        notes.append(Batch(f"{_TABLE}:{table.relative}", table_number(table_id)))
        notes.append(Batch(f"{_KEY}:{table.relative}", key))
    return notes
