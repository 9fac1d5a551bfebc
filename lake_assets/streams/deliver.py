"""Delivering to sinks without the streams: what is there now, by a Spark of its own."""

import threading
from collections.abc import Generator, Sequence

from lake_assets.errors import FeedError, StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import DeliveryReport
from lake_assets.model.sinks import Sink
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.sinks.run import SinkRun, sink_turn
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.session import start_session
from lake_assets.state.files import turn_if_free


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
    settings: Settings, sinks: Sequence[tuple[Feed, Sink]], stop: threading.Event
) -> Generator[DeliveryReport, None, None]:
    """Deliver what the tables have now, sink by sink.

    Args:
        settings: where the lake is.
        sinks: with their feeds.
        stop: ends it soon; what was made by then is recorded.

    Raises:
        StreamError: another process delivers to a sink, such as the streams.
        SettingsError: a secret is not there.
        SinkError: no call can be made as things are.
        LakeAssetsError: Spark or the lake cannot be used.
    """
    session = start_session(settings, ensure_runtime(settings))
    try:
        with open_lake(settings, session) as context:
            for feed, sink in sinks:
                with turn_if_free(settings.state_dir, sink_turn(feed, sink)) as is_ours:
                    if not is_ours:
                        fact = "another process delivers to it, such as the streams"
                        raise StreamError(f"sink {sink.name!r}", fact, "Let it go on, or stop it")
                    own = session.newSession()
                    with SinkRun(own, context, feed, sink, settings) as run:
                        report = run.deliver(stop)
                    yield report
    finally:
        session.stop()
