"""Asking the process of the streams for a run of a feed: the asker's half, and what both know.

The feed's rows are taken there, and what is done is told here, event by event. Who answers is
`streams.triggered_runs`.
"""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from lake_assets.errors import LakeAssetsError, StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.processes import ProcessId
from lake_assets.model.reports import Stage, Waiting
from lake_assets.runtime.processes import own_process
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked
from lake_assets.streams.refresh_answers import refreshed_of
from lake_assets.streams.refresh_requests import feed_digest
from lake_assets.streams.request_files import LOOK_EVERY_S, OpenRequest, open_request
from lake_assets.streams.told_events import FeedEvent, event_of

_TAKEN_WITHIN_S = 600.0
"""Seconds that streams have to take a request: they wait for a broker, finish another run of the
feed or start Spark meanwhile. The schedule's next tick asks again."""

DONE, FOLLOWED = "done", "followed"
"""Answers: all is taken that was there; or the feed is taken there without pause anyway."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """Which feed is to be run, for whom."""

    feed: str
    definition: str
    """`feed_digest`, as whoever asks has it: streams may have begun with another feed."""

    process: ProcessId


RUN_REQUEST = TypeAdapter(RunRequest)


def folder_of(settings: Settings) -> Path:
    """Where the requests lie."""
    return settings.state_dir / "run-requests"


def ask_for_run(settings: Settings, feed: Feed) -> Generator[FeedEvent | None, None, bool]:
    """Have a feed run by the process that runs the lake's streams; None is told now and then.

    Closing the generator ends the run there after the batch in hand.

    Returns:
        Whether it was run; else no streams run any more, and what is left is for another try.

    Raises:
        StreamError: they do not take it, or it failed.
        LakeAssetsError: it failed.
    """
    request = RunRequest(
        feed=feed.feed, definition=feed_digest(settings, feed), process=own_process()
    )
    text = RUN_REQUEST.dump_json(request).decode()
    with open_request(folder_of(settings), text) as asked:
        answer = yield from _await(settings, feed, asked)
    if answer == FOLLOWED:
        yield _followed(feed)
    elif answer not in {DONE, None}:
        raise _failure_in(feed, answer or "")
    return answer is not None


def _failure_in(feed: Feed, answer: str) -> LakeAssetsError:
    """What a run failed by, as the answer says."""
    try:
        refreshed_of(answer)
    except LakeAssetsError as problem:
        return problem
    except ValueError:
        pass
    return StreamError(
        f"feed {feed.feed!r}",
        "was run by streams of another release, whose answer nobody understands here",
        "Start the lake's streams again",
    )


def _understood(lines: Iterable[str]) -> Iterator[FeedEvent]:
    for line in lines:
        # Of another release: Dagster is told of the tables with the feed's next run.
        with suppress(ValueError):
            yield event_of(line)


def _await(
    settings: Settings, feed: Feed, asked: OpenRequest
) -> Generator[FeedEvent | None, None, str | None]:
    """The answer; None if who could give it ends before."""
    patience_until = time.monotonic() + _TAKEN_WITHIN_S
    while True:
        # Before the look for the answer, which may come just before they end.
        is_served = is_locked(settings.state_dir) and asked.is_open()
        answer = asked.answer()
        yield from _understood(asked.told())  # all that was told comes before the answer
        if answer is not None or not is_served:
            return answer
        if time.monotonic() > patience_until and asked.is_withdrawn():
            raise _not_taken(feed)
        yield None
        time.sleep(LOOK_EVERY_S)


def _followed(feed: Feed) -> Waiting:
    reason = f"the lake's streams take {feed.feed!r} without pause: there is nothing to run"
    if feed.is_triggered:
        reason += (
            ". They began before its `run` was declared: start them again (terminate their run in "
            "Dagster)"
        )
    return Waiting(feed=feed.feed, stage=Stage.INGEST, reason=reason)


def _not_taken(feed: Feed) -> StreamError:
    return StreamError(
        f"feed {feed.feed!r}",
        f"was not run: the lake's streams have not taken it within {_TAKEN_WITHIN_S:.0f} s",
        "See what they wait for (`lake-assets top`); if they are of an older release, start them "
        "again",
    )
