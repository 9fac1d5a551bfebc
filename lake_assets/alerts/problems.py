"""Judging what is wrong: facts about streams and refreshes in, problems out. Pure.

Streams have one problem at a time. Whether they are well again is known only once a process has
got on for a while: until then the judge does not say that a failure or a stall is over, so that
streams that die again and again are one problem.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime

from lake_assets.model.alerts import (
    STREAM_KINDS,
    STREAMS,
    AlertSeverity,
    Problem,
    ProblemKey,
    ProblemKind,
)
from lake_assets.model.heartbeat import Heartbeat

_NAMED_AT_MOST = 5
"""Keys named in an alert; more would bury what it says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Death:
    """The newest run of the streams, if it ended by an error or a kill."""

    run_id: str
    at: float
    """Seconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamsSeen:
    """What is known of the streams at a moment; times are by the monotonic clock, as a beat's."""

    now: float
    utc_now: float
    """Seconds since 1970, to tell when something began."""

    awake_since: float
    """Since when somebody looks; what happened before is not news."""

    known_run: str | None
    """The newest ended run at the last look, whose death is no news any more, "" if there was none;
    None if this is the first look."""

    is_wanted: bool
    """Whether the supervisor is on."""

    is_locked: bool
    """Whether a living process holds the lake's lock on its streams."""

    beat: Heartbeat | None = None
    """The last heartbeat of a process of this machine since it was booted, whoever's."""

    is_beater_alive: bool = False
    death: Death | None = None
    newest_run: str = ""
    """The newest ended run now, however it ended; "" if there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamsPatience:
    """When streams count as ill and as well; all in seconds."""

    stall_after_s: float
    silent_after_s: float
    proven_after_s: float
    """A process that got on for this long ends a failure; a stall ends after `stall_after_s`."""

    absent_after_s: float = 120.0
    """Nothing runs for this long: a start takes 20 s on an idle machine, and queues behind runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamsVerdict:
    """What is wrong with the streams."""

    problem: Problem | None = None
    is_clear: bool = True
    """Whether they have no other problem for certain."""


def judge_streams(
    seen: StreamsSeen, open_kinds: AbstractSet[ProblemKind], patience: StreamsPatience
) -> StreamsVerdict:
    """What is wrong with the streams now, given which of their problems are open."""
    if seen.is_locked:
        holder = seen.beat if seen.is_beater_alive else None
        return _judge_holder(holder, seen, open_kinds, patience) if holder else _UNCLEAR
    if not seen.is_wanted:
        return StreamsVerdict()
    return _judge_absence(seen, open_kinds, patience)


_UNCLEAR = StreamsVerdict(is_clear=False)


def _judge_holder(
    holder: Heartbeat,
    seen: StreamsSeen,
    open_kinds: AbstractSet[ProblemKind],
    patience: StreamsPatience,
) -> StreamsVerdict:
    """A process runs the streams: is it silent, waiting, stuck, or too young to tell?"""
    is_stalled_before = ProblemKind.STREAMS_STALLED in open_kinds
    if not is_stalled_before and (death := _news(seen)):
        # Another process began between two looks; what ails that one is seen the next time.
        return StreamsVerdict(problem=_died(death), is_clear=False)
    silent_s, stuck_s = seen.now - holder.at, seen.now - holder.progressed_at
    got_on_s = holder.progressed_at - holder.began_at
    proof_s = patience.stall_after_s if is_stalled_before else patience.proven_after_s
    is_proven = got_on_s > proof_s
    if silent_s > patience.silent_after_s:
        details = f"No heartbeat for {silent_s:.0f} s"
        return StreamsVerdict(problem=_stalled(_utc(holder.at, seen), details), is_clear=is_proven)
    if holder.waiting_for is not None:
        return StreamsVerdict(
            problem=_waiting(seen.utc_now, holder.waiting_for), is_clear=is_proven
        )
    if stuck_s > patience.stall_after_s:
        details = f"No progress for {stuck_s:.0f} s"
        since = _utc(holder.progressed_at, seen)
        return StreamsVerdict(problem=_stalled(since, details), is_clear=is_proven)
    return StreamsVerdict(is_clear=is_proven)


def _judge_absence(
    seen: StreamsSeen, open_kinds: AbstractSet[ProblemKind], patience: StreamsPatience
) -> StreamsVerdict:
    """Nobody runs the streams, and somebody should: are they on their way, or gone?"""
    beat = seen.beat
    if ProblemKind.STREAMS_STALLED in open_kinds:
        # The supervisor ended what stood still, and that is no other problem.
        return _UNCLEAR
    if beat and beat.at >= seen.awake_since and _stood_still(beat, patience):
        details = f"No progress for {beat.at - beat.progressed_at:.0f} s"
        since = _utc(beat.progressed_at, seen)
        return StreamsVerdict(problem=_stalled(since, details), is_clear=False)
    if ProblemKind.STREAMS_FAILED in open_kinds:
        return _UNCLEAR
    if death := _news(seen):
        return StreamsVerdict(problem=_died(death), is_clear=False)
    last_sign = max(beat.at if beat else seen.awake_since, seen.awake_since)
    absent_s = seen.now - last_sign
    if absent_s > patience.absent_after_s:
        details = (
            f"Nothing has run for {absent_s:.0f} s. See the sensor `supervisor` for the reason"
        )
        return StreamsVerdict(problem=_failed(_utc(last_sign, seen), details), is_clear=False)
    return _UNCLEAR


def _utc(moment: float, seen: StreamsSeen) -> float:
    return seen.utc_now - (seen.now - moment)


def _stood_still(beat: Heartbeat, patience: StreamsPatience) -> bool:
    return beat.waiting_for is None and beat.at - beat.progressed_at > patience.stall_after_s


def _news(seen: StreamsSeen) -> Death | None:
    """The death of the streams since the last look, if there was one.

    A run that died while nobody looked is marked failed later, with the later time; its last
    heartbeat tells when it really was.
    """
    death, beat = seen.death, seen.beat
    if death is None or seen.known_run is None or death.run_id == seen.known_run:
        return None
    is_old = beat and beat.owner == death.run_id and beat.at < seen.awake_since
    return None if is_old else death


def _died(death: Death) -> Problem:
    return _failed(death.at, f"Run {death.run_id} died; see its log. The supervisor starts another")


def _failed(since: float, details: str) -> Problem:
    return _of_streams(ProblemKind.STREAMS_FAILED, AlertSeverity.ERROR, since, details)


def _stalled(since: float, details: str) -> Problem:
    details = f"{details}. The supervisor restarts what it started itself"
    return _of_streams(ProblemKind.STREAMS_STALLED, AlertSeverity.ERROR, since, details)


def _waiting(since: float, reason: str) -> Problem:
    return _of_streams(ProblemKind.STREAMS_WAITING, AlertSeverity.WARNING, since, reason)


def _of_streams(kind: ProblemKind, severity: AlertSeverity, since: float, details: str) -> Problem:
    return Problem(kind=kind, subject=STREAMS, severity=severity, since=since, details=details)


def judge_refreshes(
    ticks: Mapping[str, float], behind: Mapping[str, Mapping[str, float]]
) -> list[Problem]:
    """The problems of all views that a refresh should have reached and did not.

    Args:
        ticks: by view, as `judge_refresh`; views without one are in time.
        behind: by view, as `judge_refresh`.
    """
    judged = [
        judge_refresh(asset, tick=ticks[asset], behind=behind[asset])
        for asset in behind
        if asset in ticks
    ]
    return [problem for problem in judged if problem]


def judge_refresh(asset: str, *, tick: float, behind: Mapping[str, float]) -> Problem | None:
    """A view's problem, if a refresh that should have come left keys as they were.

    Args:
        asset: the view.
        tick: its schedule's newest tick whose time of grace is over; of a view that the streams
            refresh, of each minute.
        behind: by key, since when its silver has had what the view lacks.
    """
    missed = sorted(key for key, since in behind.items() if since < tick)
    if not missed:
        return None
    named = ", ".join(missed[:_NAMED_AT_MOST]) + (", …" if len(missed) > _NAMED_AT_MOST else "")
    at = datetime.fromtimestamp(tick, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Problem(
        kind=ProblemKind.REFRESH_MISSED,
        subject=asset,
        severity=AlertSeverity.ERROR,
        since=tick,
        details=f"The refresh of {at} did not reach {len(missed)} key(s): {named}. "
        "See the schedule's ticks and its runs, or the log of the streams that refresh it",
    )


def unclear_problems(
    known: Mapping[ProblemKey, Problem], streams: StreamsVerdict, *, is_gold_seen: bool
) -> frozenset[ProblemKey]:
    """Problems of streams and refreshes that may or may not be there."""
    of_streams = () if streams.is_clear else ((kind, STREAMS) for kind in STREAM_KINDS)
    refreshes = (key for key in known if key[0] is ProblemKind.REFRESH_MISSED)
    return frozenset((*of_streams, *(() if is_gold_seen else refreshes)))
