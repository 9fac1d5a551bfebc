"""Forecasts: what will go wrong if all goes on as it does, by a few samples of it. Pure.

Rates are by the monotonic clock, between samples of one boot. What was told of the disk and of
refreshes stays until it is a good deal better: near a limit it would be news for ever.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from lake_assets.model.alerts import AlertSeverity, Problem, ProblemKey, ProblemKind

DISK = "disk"
"""Subject of what concerns the disk that has the lake."""

_LEAST_SPAN_S = 300.0
"""Seconds between the samples that a rate is taken from, at least. Below, one large batch or one
run of maintenance looks like a trend."""

_BETTER = 1.5
"""How many times the limit a forecast must be away from it to be over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offsets:
    """Of a partition of a feed's source."""

    begin: int
    """The first that the source still has."""

    reached: int
    """The one that bronze needs next."""

    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """What was at a moment."""

    at: float
    """By the monotonic clock of `boot`."""

    boot: str
    free_bytes: int
    feeds: Mapping[str, Mapping[str, Offsets]] = field(default_factory=dict)
    """By feed, and by `topic/partition`; of sources that answered."""

    refreshes: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """By view (`feed.view`) its last refreshes: when, in seconds since 1970, and how many seconds
    they took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deletion:
    """What a source deletes of a partition, by its settings."""

    young: int | None = None
    """The first offset that is not too old at the horizon; None if age deletes nothing."""

    rows_kept: float | None = None
    """How many rows are kept by their size, about; None if size deletes nothing."""


_NONE = Deletion()


@dataclass(frozen=True, kw_only=True, slots=True)
class RefreshPace:
    """How long a view's refreshes take, and how often they come."""

    seconds: float
    every_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """Of a source that tells times and no offsets, such as Kinesis."""

    for_s: float
    """Seconds for which its oldest row may have waited."""

    kept_s: float
    """Seconds that the source keeps rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastFacts:
    """What forecasts are made of."""

    utc_now: float
    samples: Sequence[Sample]
    """The oldest first; the last is of now."""

    deletions: Mapping[str, Mapping[str, Deletion]] = field(default_factory=dict)
    """By feed, and by `topic/partition`; of sources that tell."""

    unread: Mapping[str, Unread] = field(default_factory=dict)
    """By feed."""

    refreshes: Mapping[str, RefreshPace] = field(default_factory=dict)
    """By view, as the alerts call it."""

    read_in_s: Mapping[str, float] = field(default_factory=dict)
    """By feed with a schedule, seconds until its next run has had its time: by then what waits now
    is read, whatever the rate was since the last one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """How far ahead is looked."""

    retention_s: float
    disk_s: float
    refresh_share: float
    """Of the time between two refreshes of a view, that one may take."""


def judge_forecasts(
    facts: ForecastFacts, known: AbstractSet[ProblemKey], horizon: Horizon
) -> list[Problem]:
    """What is to be expected.

    Args:
        facts: by which.
        known: open problems.
        horizon: how far ahead is looked.
    """
    now = facts.samples[-1]
    then = _earlier(facts.samples)
    slow = ProblemKind.REFRESH_SLOW
    found: list[Problem | None] = [
        _of_refresh(view, pace, facts.utc_now, horizon.refresh_share / _limit(known, slow, view))
        for view, pace in facts.refreshes.items()
    ]
    found += [_of_unread(feed, told, facts, horizon) for feed, told in facts.unread.items()]
    if then is not None:
        by_disk = _limit(known, ProblemKind.DISK_FILLS, DISK)
        found.append(_of_disk(then, now, facts.utc_now, horizon.disk_s * by_disk))
        found += [
            _of_retention(feed, then, now, facts, horizon)
            for feed in now.feeds
            if feed in then.feeds
        ]
    return [problem for problem in found if problem is not None]


def seconds_left(room: float, rate: float) -> float | None:
    """When something is used up that shrinks at a rate; None if it does not shrink."""
    return room / rate if rate > 0 else None


def lost_at(
    now: Offsets, before: Offsets, span_s: float, deletion: Deletion, ahead_s: float
) -> int:
    """How many rows of a partition will be deleted unread in some time, if all goes on as it does.

    Rows count that were there at the sample before already: what came since is on its way.

    Args:
        now: offsets of the partition.
        before: the same at an earlier sample.
        span_s: seconds between the two.
        deletion: what the source's settings say of the partition.
        ahead_s: that time.
    """
    if now.reached >= min(before.end, now.end):
        return 0
    factor = 1 + ahead_s / span_s
    end = before.end + max(0, now.end - before.end) * factor
    read_to = before.reached + max(0, now.reached - before.reached) * factor
    # Rows go as they went; that alone tells of settings that we may not read.
    gone_to = [before.begin + max(0, now.begin - before.begin) * factor]
    if deletion.young is not None:
        gone_to.append(deletion.young)
    if deletion.rows_kept is not None:
        gone_to.append(end - deletion.rows_kept)
    return max(0, int(min(max(gone_to), end) - read_to))


def _earlier(samples: Sequence[Sample]) -> Sample | None:
    """The oldest sample of this boot that a rate can be taken from."""
    now = samples[-1]
    fit = [s for s in samples if s.boot == now.boot and now.at - s.at >= _LEAST_SPAN_S]
    return fit[0] if fit else None


def _limit(known: AbstractSet[ProblemKey], kind: ProblemKind, subject: str) -> float:
    return _BETTER if (kind, subject) in known else 1.0


def _of_disk(then: Sample, now: Sample, utc_now: float, within_s: float) -> Problem | None:
    rate = (then.free_bytes - now.free_bytes) / (now.at - then.at)
    left_s = seconds_left(now.free_bytes, rate)
    if left_s is None or left_s > within_s:
        return None
    return Problem(
        kind=ProblemKind.DISK_FILLS,
        subject=DISK,
        severity=AlertSeverity.WARNING,
        since=utc_now,
        details=f"The lake's disk has {now.free_bytes / 1e9:.1f} GB left and loses "
        f"{rate * 3600 / 1e9:.2f} an hour: it is full in {left_s / 3600:.1f} h. Free some, have "
        "more of it, or let maintenance run (`lake-assets maintain`)",
    )


def _of_retention(
    feed: str, then: Sample, now: Sample, facts: ForecastFacts, horizon: Horizon
) -> Problem | None:
    deletions, span_s = facts.deletions.get(feed, {}), now.at - then.at
    ahead_s = min(horizon.retention_s, facts.read_in_s.get(feed, horizon.retention_s))
    lost = {
        place: lost_at(offsets, before, span_s, deletions.get(place, _NONE), ahead_s)
        for place, offsets in now.feeds[feed].items()
        if (before := then.feeds[feed].get(place)) is not None
    }
    worst = max(lost, key=lambda place: lost[place], default=None)
    if worst is None or not lost[worst]:
        return None
    name, _, partition = worst.rpartition("/")
    lag = sum(max(0, o.end - o.reached) for o in now.feeds[feed].values())
    return Problem(
        kind=ProblemKind.RETENTION_NEAR,
        subject=feed,
        severity=AlertSeverity.WARNING,
        since=facts.utc_now,
        details=f"Within {ahead_s / 3600:.1f} h the source deletes about {sum(lost.values()):,} "
        f"rows before they are read, if all goes on as it does: {lag:,} rows wait, the most in "
        f"partition {partition} of {name}. Have the feed read faster, or the topic's retention "
        "longer",
    )


def _of_unread(feed: str, told: Unread, facts: ForecastFacts, horizon: Horizon) -> Problem | None:
    ahead_s = min(horizon.retention_s, told.kept_s / 2, facts.read_in_s.get(feed, told.kept_s))
    left_s = told.kept_s - told.for_s
    if left_s > ahead_s:
        return None
    return Problem(
        kind=ProblemKind.RETENTION_NEAR,
        subject=feed,
        severity=AlertSeverity.WARNING,
        since=facts.utc_now,
        details=f"Rows may have waited for {told.for_s / 3600:.1f} h, and the source keeps them "
        f"for {told.kept_s / 3600:.0f} h: it deletes them unread in {max(0.0, left_s) / 3600:.1f} "
        "h. Have the feed read, or the stream's retention longer",
    )


def _of_refresh(view: str, pace: RefreshPace, utc_now: float, share: float) -> Problem | None:
    if pace.seconds < share * pace.every_s:
        return None
    return Problem(
        kind=ProblemKind.REFRESH_SLOW,
        subject=view,
        severity=AlertSeverity.WARNING,
        since=utc_now,
        details=f"Its refreshes take {pace.seconds:.0f} s, and one is due each "
        f"{pace.every_s:.0f} s: soon they come late. Have it refreshed more rarely, or computed "
        "from less",
    )
