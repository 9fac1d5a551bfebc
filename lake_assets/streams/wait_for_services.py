"""Streams that wait for their broker and registry to be started, alive and saying so meanwhile."""

import time
from collections.abc import Callable, Generator, Sequence

from lake_assets.errors import ServiceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.reports import Stage, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.state.files import streams_lock
from lake_assets.state.heartbeat import HeartbeatThread, Progress
from lake_assets.state.lake_id import ensure_bound
from lake_assets.state.stream_stops import stops_of
from lake_assets.streams.run import StreamEvent, Tick, stream_events
from lake_assets.streams.watch import Watch, waiting_status

_PAUSE_S = 1.0
"""Seconds between two looks for the services; each reads two small files."""


def wait_for_services(
    settings: Settings,
    feeds: Sequence[Feed],
    locate: Callable[[], Endpoints],
    *,
    owner: str,
) -> Generator[StreamEvent, None, None]:
    """As `stream_events`, waiting first until `locate` finds the services.

    Raises:
        StreamsLockedError: another process runs this lake's streams.
        StreamError: a query ended with an error that will not pass by itself.
        LakeAssetsError: Spark, the lake or a feed cannot be used.
    """
    endpoints = yield from _wait(settings, feeds, locate, owner)
    # Between the two locks another process may step in; it is refused there as anywhere.
    yield from stream_events(settings, feeds, endpoints, owner=owner)


def _wait(
    settings: Settings, feeds: Sequence[Feed], locate: Callable[[], Endpoints], owner: str
) -> Generator[StreamEvent, None, Endpoints]:
    ensure_bound(settings)
    with streams_lock(settings.state_dir):
        answer = _look(locate)
        if isinstance(answer, Endpoints):
            return answer
        reason, announced = answer, ""
        followed = supervised(feeds)

        def progress() -> Progress:
            # Nothing is read before `stream_events` begins, which heeds stops.
            stops = stops_of(settings.state_dir, [feed.feed for feed in followed])
            return Progress(
                progressed_at=time.monotonic(),
                waiting_for=reason,
                metrics=metrics,
                stopped_by={name: str(stop) for name, stop in stops.items()},
            )

        every_s = settings.stream.heartbeat_every_s
        watch = Watch(settings, feeds, None)
        watch.status = lambda: waiting_status(followed, reason)
        with (
            watch.serving() as metrics,
            HeartbeatThread(settings.state_dir, owner, progress, every_s=every_s),
        ):
            while True:
                if reason == announced:
                    yield Tick()
                else:
                    announced = reason
                    for feed in followed:
                        yield Waiting(feed=feed.feed, stage=Stage.INGEST, reason=reason)
                time.sleep(_PAUSE_S)
                answer = _look(locate)
                if isinstance(answer, Endpoints):
                    return answer
                reason = answer


def _look(locate: Callable[[], Endpoints]) -> Endpoints | str:
    """The services, or why they cannot be found."""
    try:
        return locate()
    except ServiceError as problem:
        return str(problem)
