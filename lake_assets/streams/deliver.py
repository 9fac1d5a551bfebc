"""Delivering to sinks without the streams: what is there now, by a Spark of its own."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from operator import methodcaller
from typing import NamedTuple, TypeVar

from lake_assets.errors import FeedError, StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import DeliveryReport, RedeliveryReport
from lake_assets.model.sinks import Sink
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.sinks.run import SinkRun, redelivery_turn, sink_turn
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.session import start_session
from lake_assets.state.files import turn_if_free
from lake_assets.streams.sinks_outside import outside_of

_LOOKS_WITHIN_S = 2.0
"""Seconds in which streams that look whether dead letters are sent again have looked."""

_GIVEN_UP_WITHIN_S = 120.0
"""Seconds in which streams give up the turn of a sink: what they are at is delivered first."""

_Report = TypeVar("_Report", DeliveryReport, RedeliveryReport)


def sinks_named(feeds: Sequence[Feed], name: str | None) -> list[tuple[Feed, Sink]]:
    """The sinks of that name, or all.

    Raises:
        FeedError: there are none.
    """
    every = [(feed, sink) for feed in feeds for sink in feed.sinks]
    found = [(feed, sink) for feed, sink in every if name in {None, sink.name}]
    if not found:
        names = ", ".join(f"{feed.feed}.{sink.name}" for feed, sink in every) or "none"
        thing = "sinks" if name is None else f"sink {name!r}"
        raise FeedError(thing, "is not declared", f"The feeds have {names}")
    return found


def deliver_now(
    settings: Settings,
    sinks: Sequence[tuple[Feed, Sink]],
    endpoints: Endpoints | None,
    stop: threading.Event,
) -> Generator[DeliveryReport, None, None]:
    """Deliver what the tables have now, sink by sink.

    Args:
        settings: where the lake is.
        sinks: with their feeds.
        endpoints: of the lake; None where its services do not run.
        stop: ends it soon; what was made by then is recorded.

    Raises:
        StreamError: another process delivers to a sink, such as the streams.
        SettingsError: a secret is not there.
        SinkError: no call can be made as things are.
        LakeAssetsError: Spark or the lake cannot be used.
    """
    fact, step = "another process delivers to it, such as the streams", "Let it go on, or stop it"
    turns = [_Turn(sink_turn, fact, step)]
    act = methodcaller("deliver", stop)
    yield from _in_turns(settings, sinks, endpoints, lambda _: turns, act)


def redeliver_now(
    settings: Settings,
    sinks: Sequence[tuple[Feed, Sink]],
    endpoints: Endpoints | None,
    stop: threading.Event,
) -> Generator[RedeliveryReport, None, None]:
    """Send the dead letters of sinks again; the streams may deliver to them meanwhile.

    Not to a sink of a view, which has no order but that of its batches: it waits until the streams
    have given up its turn, which they do once what they are at is delivered.

    Args:
        settings: where the lake is.
        sinks: with their feeds.
        endpoints: of the lake; None where its services do not run.
        stop: ends it soon; what was made by then is recorded.

    Raises:
        StreamError: another process does the same.
        SettingsError, SinkError, LakeAssetsError: as `deliver_now`.
    """
    fact, step = "another process sends its dead letters again", "Wait until that is done"
    own = _Turn(redelivery_turn, fact, step, within_s=_LOOKS_WITHIN_S)
    fact, step = "another process delivers to it for long", "Try it later, or stop the streams"
    beside = _Turn(sink_turn, fact, step, within_s=_GIVEN_UP_WITHIN_S)
    act = methodcaller("redeliver", stop)

    def turns_of(sink: Sink) -> list[_Turn]:
        return [own] if sink.view is None else [own, beside]

    yield from _in_turns(settings, sinks, endpoints, turns_of, act)


class _Turn(NamedTuple):
    of: Callable[[Feed, Sink], str]
    fact: str
    """Of a sink at which another process is."""

    step: str
    within_s: float = 0.0
    """Seconds that it is waited for."""


def _in_turns(
    settings: Settings,
    sinks: Sequence[tuple[Feed, Sink]],
    endpoints: Endpoints | None,
    turns_of: Callable[[Sink], Sequence[_Turn]],
    act: Callable[[SinkRun], _Report],
) -> Generator[_Report, None, None]:
    """What is done with each sink in its turns, by a Spark of its own."""
    session = start_session(settings, ensure_runtime(settings))
    try:
        with open_lake(settings, session) as context:
            for feed, sink in sinks:
                with ExitStack() as stack:
                    for turn in turns_of(sink):
                        task = turn_if_free(
                            settings.state_dir, turn.of(feed, sink), within_s=turn.within_s
                        )
                        if not stack.enter_context(task):
                            raise StreamError(f"sink {sink.name!r}", turn.fact, turn.step)
                    own = session.newSession()
                    outside = outside_of(settings, endpoints, feed, sink, own)
                    with SinkRun(own, context, feed, sink, settings, outside) as run:
                        report = act(run)
                    yield report
    finally:
        session.stop()
