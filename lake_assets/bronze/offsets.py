"""Where ingest goes on in its source: after the rows that bronze has. Pure.

Bronze's commits say which offsets it has (`delta.source_offsets`); the source says which there are.
What lies between is a gap, which the feed stops at or has recorded (`on_gap`).
"""

from dataclasses import dataclass

from lake_assets.errors import StreamError
from lake_assets.model.gaps import Gap, GapReason
from lake_assets.model.origins import ByPlace, Extent, Place
from lake_assets.model.sources import DeclaredSource


@dataclass(frozen=True, kw_only=True, slots=True)
class Continuation:
    """Where a source is read next."""

    starts: ByPlace
    """The offset, by name and partition."""

    gaps: tuple[Gap, ...] = ()
    """What is passed over thereby, to be recorded before it is."""


def is_another(recorded: int | None, told: int | None) -> bool:
    """Whether a source is not the one that bronze's rows are of, where both have an identity."""
    return recorded is not None and told is not None and recorded != told


def continuation(
    source: DeclaredSource, extent: Extent, have: ByPlace, *, knows_all: bool = True
) -> Continuation:
    """Where to go on in sources; a partition that came since is read from its first row.

    Args:
        source: what is read.
        extent: which offsets it has, of the sources that are gone on with.
        have: by name and partition, the offset after the last that bronze has.
        knows_all: whether `have` has every partition that there was: one that came since began at
            offset 0.

    Raises:
        StreamError: the source never had what bronze has; or it no longer has what comes next, and
            the feed is to stop then.
    """
    for place, offset in have.items():
        _ensure_same(source, extent, place, offset)
    gaps = gaps_in(extent, have, knows_all=knows_all)
    if gaps and source.on_gap == "stop":
        raise _lost(source, gaps[0])
    reached = {(gap.source, gap.partition): gap.offset_to for gap in gaps}
    starts = {
        place: reached.get(place, have.get(place, begin)) for place, begin in extent.begins.items()
    }
    return Continuation(starts=starts, gaps=gaps)


def gaps_in(extent: Extent, have: ByPlace, *, knows_all: bool = True) -> tuple[Gap, ...]:
    """What a source deleted before it was read; arguments as `continuation`'s."""
    return tuple(
        Gap(
            source=name,
            partition=partition,
            offset_from=next_offset,
            offset_to=begin,
            reason=GapReason.DELETED,
        )
        for (name, partition), begin in sorted(extent.begins.items())
        if (next_offset := have.get((name, partition), 0 if knows_all else begin)) < begin
    )


def continuation_in_another(
    source: DeclaredSource, name: str, extent: Extent, have: ByPlace, recorded: ByPlace
) -> Continuation:
    """Where to go on in a source that `is_another`.

    Its rows must not have the offsets of rows that bronze has: a row is known by them.

    Args:
        source: what is read.
        name: of the one.
        extent: which offsets it has.
        have: by partition that rows were read of, the offset after the last that bronze has of the
            former one.
        recorded: the same of what it ever had, where a RESTORE took some: silver has them still.

    Raises:
        StreamError: the feed is to stop then, or offsets would mean two rows each.
    """
    if source.on_gap == "stop":
        raise another(source, name)
    for place, offset in sorted(have.items()):
        partition, begin = place[1], extent.begins.get(place)
        reached = max(offset, recorded.get(place, offset))
        if begin is None or begin < reached:
            again = (
                f"has no partition {partition}, and one that is added would have offset 0 again"
                if begin is None
                else f"its partition {partition} has offset {begin} again"
            )
            raise StreamError(
                source.title_of(name),
                f"is not the one that bronze has rows of, and {again}, of which bronze may have "
                f"another row (up to offset {reached})",
                "Name it otherwise and correct the feed, which then has the rows of both; or read "
                "it into another lake (--lake), or into this one under another feed's name",
            )
    gaps = tuple(
        Gap(
            source=name,
            partition=partition,
            offset_from=offset,
            offset_to=extent.begins[name, partition],
            reason=GapReason.RECREATED,
        )
        for (_, partition), offset in sorted(have.items())
    )
    return Continuation(starts=dict(extent.begins), gaps=gaps)


def another(source: DeclaredSource, name: str) -> StreamError:
    """The error of a source that `is_another`."""
    return StreamError(
        source.title_of(name),
        "is not the one that bronze has rows of: it was created again under the same name, or "
        f"this lake belongs to another {source.system}",
        _elsewhere(source),
    )


def _ensure_same(source: DeclaredSource, extent: Extent, place: Place, offset: int) -> None:
    end = extent.ends.get(place)
    if end is None or offset > end:
        fact = "is not there" if end is None else f"ends at offset {end}"
        raise StreamError(
            f"partition {place[1]} of {source.title_of(place[0])}",
            f"{fact}, and bronze has its rows up to offset {offset}: it was created again, or "
            f"this lake belongs to another {source.system}",
            _elsewhere(source),
        )


def _lost(source: DeclaredSource, gap: Gap) -> StreamError:
    return StreamError(
        f"partition {gap.partition} of {source.title_of(gap.source)}",
        f"begins at offset {gap.offset_to}, and bronze needs offset {gap.offset_from} next: "
        f"{source.system} deleted {gap.offset_to - gap.offset_from} offsets before they were read",
        f"Restore them in {source.system}; or let the feed go on without them (`on_gap: record` of "
        "its source), which keeps their offsets in the table `gaps`",
    )


def _elsewhere(source: DeclaredSource) -> str:
    return (
        f"Name the right {source.system}; or read this one into another lake (--lake), or into "
        "this one under another feed's name"
    )
