"""Where ingest begins: by what bronze's commits record, and by what there is of its sources.

Decides for each source of a feed on its own (`bronze.offsets`): one that bronze has rows of is gone
on with, one that is new to it begins where the feed says. Writes nothing.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from deltalake import DeltaTable

from lake_assets.bronze.offsets import (
    Continuation,
    continuation,
    continuation_in_another,
    is_another,
)
from lake_assets.delta.commit import Batch
from lake_assets.delta.data_files import active_files
from lake_assets.delta.recorded_sources import sources_read
from lake_assets.delta.restores import held_offsets, recorded_of
from lake_assets.delta.source_offsets import (
    awaited_app,
    begun_offsets,
    begun_transactions,
    identity_app,
    is_known,
    known_transaction,
    offsets_of_rows,
)
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import SourceNotFoundError
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import Gap
from lake_assets.model.origins import Extent, Place, of_names
from lake_assets.model.sources import DeclaredSource
from lake_assets.sources.base import Generation, Source

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Begin:
    """Where ingest begins, and what is to be recorded of it."""

    starts: dict[Place, int]
    gaps: tuple[Gap, ...]
    recorded: dict[Place, int]
    """Of the sources that are there, by bronze's commits."""

    transactions: tuple[Batch, ...]
    """What else bronze is to record, beside how far it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What bronze has of the sources that a feed reads."""

    recorded: dict[Place, int]
    """How far its commits say that it is."""

    have: dict[Place, int]
    """How far its rows are: fewer after a RESTORE. Without partitions that another source of the
    name has begun anew."""

    identities: Mapping[str, int | None]
    """By name, which source of it the rows are of."""

    others: Collection[str]
    """Names under which there is another source by now."""

    def there(self, extent: Extent) -> dict[Place, int]:
        """How far its rows are in partitions that are still there, of the same sources."""
        return {
            place: at
            for place, at in self.have.items()
            if place[0] not in self.others and place in extent.ends
        }


def held_of(
    feed: Feed, log: TableLog, handle: DeltaTable, extent: Extent, generation: Generation
) -> Held:
    """What bronze has of the sources that a feed reads, and of those that are there.

    Raises:
        LakeError: the lake cannot be read.
    """
    kind = feed.source.kind
    read = {source.name for source in sources_read(log, handle, feed.source)}
    names = sorted({*read, *extent.names})
    sources = [feed.source.named(name) for name in names]
    recorded = dict(recorded_of(handle, sources))
    identities = {name: handle.transaction_version(identity_app(kind, name)) for name in names}
    # After a RESTORE the rows are fewer than recorded: they are read again.
    have = dict(held_offsets(log, handle, sources, recorded)) or _by_rows(feed, log, handle)
    told = generation.identities
    others = {name for name in names if is_another(identities[name], told.get(name))}
    if others:  # of what had the name before, partitions that nothing was read of are new
        ever = {**have, **recorded}
        begun_at = begun_offsets(handle, kind, of_names(have, others))
        have = {p: at for p, at in have.items() if begun_at.get(p, -1) < max(at, ever[p])}
    return Held(recorded=recorded, have=have, identities=identities, others=others)


def _by_rows(feed: Feed, log: TableLog, handle: DeltaTable) -> dict[Place, int]:
    """Where a bronze table is whose commits do not tell: another release or engine made it."""
    offsets = offsets_of_rows(log, active_files(handle), feed.source.origin)
    return {place: at for place, at in offsets.items() if feed.source.declared.reads(place[0])}


def begin_of(
    source: Source,
    feed: Feed,
    handle: DeltaTable,
    held: Held,
    extent: Extent,
    told: Generation,
) -> Begin:
    """Where each source is read next.

    Args:
        source: as its feed declares it.
        feed: whose source.
        handle: bronze.
        held: what it has.
        extent: what there is of the sources.
        told: which they are.

    Raises:
        SourceNotFoundError: one that bronze has rows of is not there, and the feed is to stop then.
        StreamError: a source does not have what comes next, and likewise.
    """
    declared = feed.source.declared
    _ensure_none_gone(declared, held, extent)
    found = [_of_one(source, declared, handle, held, extent.of({name})) for name in extent.names]
    starts = {place: at for one in found for place, at in one.starts.items()}
    # Where none is recorded, a partition was begun at 0.
    new = {place: at for place, at in starts.items() if place not in held.have}
    begun = {place: at for place, at in new.items() if at or place in held.recorded}
    kind = declared.kind
    named = [
        Batch(identity_app(kind, name), number)
        for name in extent.names
        if (number := told.identities.get(name)) not in {None, held.identities[name]}
    ]
    awaited = [
        known_transaction(kind, name)
        for name in declared.names
        if name not in extent.names and not is_known(handle, kind, name)
    ]
    return Begin(
        starts=starts,
        gaps=tuple(gap for one in found for gap in one.gaps),
        recorded=of_names(held.recorded, extent.names),
        transactions=(*named, *awaited, *begun_transactions(kind, begun)),
    )


def _of_one(
    source: Source, declared: DeclaredSource, handle: DeltaTable, held: Held, extent: Extent
) -> Continuation:
    """Where one source is read next, of which this is all that there is."""
    (name,) = extent.names
    have, recorded = of_names(held.have, {name}), of_names(held.recorded, {name})
    if have and name in held.others:
        return continuation_in_another(declared, name, extent, have, recorded)
    if have:
        return continuation(declared, extent, have, knows_all=bool(recorded))
    if name not in held.others and is_known(handle, declared.kind, name):
        # The feed waited for it: what it lost was lost unread.
        return continuation(declared, extent, {})
    has_begun = held.recorded or handle.transaction_version(awaited_app(declared.kind)) is not None
    if not declared.names and has_begun:
        return Continuation(starts=extent.begins)  # a pattern found it since
    return Continuation(starts=source.first_offsets(extent))


def _ensure_none_gone(declared: DeclaredSource, held: Held, extent: Extent) -> None:
    gone = sorted({name for name, _ in held.have} - {*extent.names})
    for name in gone:
        ends = of_names(held.have, {name})
        reached = ", ".join(f"{at} of partition {p}" for (_, p), at in sorted(ends.items()))
        if declared.on_gap == "stop":
            raise SourceNotFoundError(
                declared.title_of(name),
                f"does not exist any more, and bronze has its rows up to offset {reached}",
                "Bring it back, change what the feed reads so that it is none of it, or let the "
                "others go on without it (`on_gap: record`)",
            )
        _LOG.warning(
            "%s is not there any more; bronze has its rows up to offset %s, and the others go on",
            declared.title_of(name),
            reached,
        )
