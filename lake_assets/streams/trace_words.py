"""Where a row of a source is, in a sentence."""

from collections.abc import Sequence

from lake_assets.logs.gaps import RecordedGap
from lake_assets.model.expectations import Action
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import GapReason
from lake_assets.streams.whereabouts import (
    BY_PLACE,
    DEAD_LETTER,
    DELIVERED,
    Place,
    Progress,
    Whereabouts,
)


def in_gap(recorded: RecordedGap, feed: Feed) -> str:
    """Why bronze does not have it, and never will."""
    why = {
        GapReason.DELETED: f"{feed.source.declared.system} deleted it before it was read",
        GapReason.SKIPPED: "its batch could not be read and was skipped (`stream --skip-batch`)",
        GapReason.REFUSED: "bronze refused it, and it is no longer in quarantine either",
        GapReason.RECREATED: "its source was deleted and created again before it was read",
    }[recorded.gap.reason]
    return f"not in bronze: {why} ({recorded.gap}; noticed {recorded.at:%Y-%m-%d %H:%M:%S} UTC)"


def words(
    whereabouts: Whereabouts,
    feed: Feed,
    progress: Progress,
    places: Sequence[Place],
    end: int | None,
) -> str:
    """Where it is.

    Args:
        whereabouts: the same in a word.
        feed: whose row.
        progress: how far the streams had got.
        places: tables that have it.
        end: offset after the partition's last message, if it was asked for.
    """
    last = places[-1] if places else None
    keys = [place.key for place in places if place.key is not None]
    droppers = [e.name for e in feed.expectations if e.action is Action.DROP]
    dropped = (
        f"expectations that drop are {', '.join(droppers)}"
        if droppers
        else "no expectation drops now; one did, or the row was deleted since"
    )
    return {
        Whereabouts.NOT_IN_SOURCE: f"does not exist yet: the partition ends at offset {end}",
        Whereabouts.NOT_INGESTED: (
            "not in bronze: ingest has taken nothing of this partition"
            if progress.ingested is None
            else f"not in bronze: ingest takes offset {progress.ingested} next"
        ),
        Whereabouts.PASSED: (
            f"not in bronze, though ingest takes offset {progress.ingested} next: the source had "
            "no such message, ingest began after it, or it was deleted since"
        ),
        Whereabouts.BRONZE: _in_bronze(feed, places),
        Whereabouts.WAITING: f"waiting beside bronze: {last.detail if last else None}",
        Whereabouts.SILVER: f"in silver, as an event of {' and of '.join(keys)}",
        Whereabouts.QUARANTINE: (
            f"in quarantine: {last.reason if last else None} ({last.detail if last else None})"
        ),
        Whereabouts.DUPLICATE: f"a duplicate {last.detail if last else None}, which stays",
        Whereabouts.ERASED: f"erased, {last.detail if last else f'by {BY_PLACE}'}",
        Whereabouts.DROPPED: f"dropped: demuxed, and in no table; {dropped}",
    }[whereabouts]


def _in_bronze(feed: Feed, places: Sequence[Place]) -> str:
    if feed.has_silver:
        return "in bronze; demux has not come to it yet"
    told = [
        f"{'delivered' if place.reason == DELIVERED else 'a dead letter'} ({place.detail})"
        for place in places
        if place.reason in {DELIVERED, DEAD_LETTER}
    ]
    nothing = "no sink has sent it: none has come to it yet, or none wants it by its `where`"
    return f"in bronze; {'; '.join(told) or nothing}"
