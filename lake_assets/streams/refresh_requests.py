"""Asking the process of the streams, which has Spark already, for a refresh; and answering.

Whoever asks takes a Spark of its own where the streams do not answer. How requests go to and fro is
`streams.request_files`', what an answer says `streams.refresh_answers`'.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from lake_assets.errors import LakeAssetsError, first_line
from lake_assets.gold.view_turns import TELL_AFTER_S, told_of_wait, turn_of
from lake_assets.model.feeds import Feed
from lake_assets.model.processes import ProcessId
from lake_assets.model.reports import Refreshed
from lake_assets.runtime.processes import own_process
from lake_assets.settings.schema import Settings
from lake_assets.spark.session_digest import session_digest
from lake_assets.state.files import is_locked
from lake_assets.state.turn_holders import holder_of
from lake_assets.streams.refresh_answers import (
    NotRefreshedHereError,
    answer_of,
    failure_of,
    merged,
    refreshed_of,
)
from lake_assets.streams.request_files import (
    LOOK_EVERY_S,
    OpenRequest,
    RequestFolder,
    answer,
    open_request,
)

_LOG = logging.getLogger(__name__)

_TAKEN_WITHIN_S = 3.0
"""Seconds after which streams that have not taken a request are busy starting, or are of a release
that takes none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Which refresh is asked for, by whom."""

    feed: str
    definition: str
    """`feed_digest`, as whoever asks has it: streams may have begun with another feed."""

    views: tuple[str, ...]
    keys: tuple[str, ...] | None
    process: ProcessId


_REQUEST = TypeAdapter(Request)


def feed_digest(settings: Settings, feed: Feed) -> str:
    """A hash of a feed's declaration and of what in Spark's settings changes results.

    With what its views read of other feeds.
    """
    read = {source.feed for view in feed.gold for source in view.sources if source.feed}
    others = [other.model_dump_json() for other in feed.others if other.feed in read]
    text = " ".join([session_digest(settings), feed.model_dump_json(), *others])
    return hashlib.sha256(text.encode()).hexdigest()


def ask_streams(
    settings: Settings,
    feed: Feed,
    *,
    views: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
) -> Refreshed | None:
    """Have views refreshed by the process of the lake's streams, as `refresh_gold` would.

    None if no streams run, or they do not take the request or end before they answer it: then
    whoever asks does it, and finds what they have done up to date.

    Raises:
        LakeAssetsError: the refresh failed.
    """
    if not is_locked(settings.state_dir):
        return None
    names = views or [v.name for v in feed.gold if keys is None or not v.is_over_all]
    request = Request(
        feed=feed.feed,
        definition=feed_digest(settings, feed),
        views=tuple(names),
        keys=None if keys is None else tuple(keys),
        process=own_process(),
    )
    with open_request(_folder(settings), _REQUEST.dump_json(request).decode()) as asked:
        text = _await(settings, feed, names, asked)
    if text is None:
        return None
    try:
        return refreshed_of(text)
    except ValueError:  # streams of another release
        return None


def _await(settings: Settings, feed: Feed, views: Sequence[str], asked: OpenRequest) -> str | None:
    """The answer to a request; None if none comes, or an empty one: the request is refused."""
    patience_until = time.monotonic() + _TAKEN_WITHIN_S
    tell_at: float | None = time.monotonic() + TELL_AFTER_S
    while True:
        # Before the look for the answer, which may come just before they end.
        is_served = is_locked(settings.state_dir) and asked.is_open()
        text = asked.answer()
        if text is not None:
            return text or None
        if not is_served or (time.monotonic() > patience_until and asked.is_withdrawn()):
            return None
        if tell_at is not None and time.monotonic() > tell_at:
            tell_at = None
            _tell_of_wait(settings, feed, views)
        time.sleep(LOOK_EVERY_S)


def _tell_of_wait(settings: Settings, feed: Feed, views: Sequence[str]) -> None:
    """Tell which views are being refreshed, by whom; the streams' turn comes after others'."""
    busy = [
        view
        for view in feed.gold
        if view.name in views and holder_of(settings.state_dir, turn_of(feed, view)) is not None
    ]
    for view in busy:
        _LOG.warning("%s", told_of_wait(settings.state_dir, feed, view))
    if not busy:
        fact = "the lake's streams were asked for it and have not begun"
        _LOG.warning("refresh of %s: %s. Ctrl-C withdraws the request", ", ".join(views), fact)


def _folder(settings: Settings) -> Path:
    return settings.state_dir / "refresh-requests"


Ask = Callable[[str, Sequence[str], Sequence[str] | None], "list[Future[Refreshed]] | None"]
"""Has keys of a feed's views refreshed; as `LiveGold.ask`."""


class RequestServer:
    """Answers the requests of other processes, in a thread, while its block runs."""

    def __init__(self, settings: Settings, feeds: Sequence[Feed], ask: Ask) -> None:
        """Prepare the thread; only the holder of the lock on the lake's streams may."""
        self._folder = RequestFolder(_folder(settings), _REQUEST.validate_json, "a refresh")
        self._definitions = {feed.feed: feed_digest(settings, feed) for feed in feeds}
        self._ask = ask
        self._under_way: dict[Path, list[Future[Refreshed]]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="refresh requests", daemon=True)

    def __enter__(self) -> None:
        """Start the thread."""
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """End it; what is under way stays without an answer."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        trouble = ""
        while not self._stop.wait(LOOK_EVERY_S):
            try:
                self._answer()
                for taken, request in self._folder.take():
                    self._begin(taken, request)
                trouble = ""
            except Exception as problem:  # noqa: BLE001 - the next request may be one
                told = first_line(problem) or type(problem).__name__
                if told != trouble:
                    _LOG.warning("requests of refreshes wait: %s", told)
                trouble = told

    def _begin(self, taken: Path, request: Request) -> None:
        is_ours = self._definitions.get(request.feed) == request.definition
        answers = self._ask(request.feed, request.views, request.keys) if is_ours else None
        self._under_way[taken] = answers or []

    def _answer(self) -> None:
        for taken, answers in list(self._under_way.items()):
            if all(each.done() for each in answers):
                answer(taken, _text_of(answers))  # on a full disk, with the next look
                del self._under_way[taken]


def _text_of(answers: Sequence["Future[Refreshed]"]) -> str:
    if not answers:
        return ""
    problems = (answer.exception() for answer in answers)
    problem = next((problem for problem in problems if problem is not None), None)
    if isinstance(problem, NotRefreshedHereError):
        return ""
    if problem is None:
        return answer_of(merged([answer.result() for answer in answers]))
    if not isinstance(problem, LakeAssetsError):
        _LOG.warning("a refresh that was asked for failed", exc_info=problem)
    return failure_of(problem)
