"""Asking the process of the streams, which has Spark already, for a refresh; and answering.

A request is a file in the state folder, and so is its answer: they work wherever the lake's locks
do, and a process that dies leaves nothing that would have to be closed. Whoever asks takes a Spark
of its own where the streams do not answer. What an answer says is `streams.refresh_answers`'.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from lake_assets.errors import LakeAssetsError, first_line
from lake_assets.gold.view_turns import TELL_AFTER_S, told_of_wait, turn_of
from lake_assets.model.feeds import Feed
from lake_assets.model.processes import ProcessId
from lake_assets.model.reports import Refreshed
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.processes import is_alive, own_process
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

_LOG = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.2
"""Seconds between two looks for requests, or for an answer; each lists a small folder."""

_TAKEN_WITHIN_S = 3.0
"""Seconds after which streams that have not taken a request are busy starting, or are of a release
that takes none."""

_ASKED, _TAKEN, _ANSWERED = ".json", ".taken", ".answer"
"""Endings of a request's file, of one that is worked on, and of its answer."""


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
    asked = _folder(settings) / f"{uuid4().hex}{_ASKED}"
    replace_text(asked, _REQUEST.dump_json(request).decode())
    try:
        text = _await(settings, feed, names, asked)
    finally:
        for ending in (_ASKED, _TAKEN, _ANSWERED):
            asked.with_suffix(ending).unlink(missing_ok=True)
    if text is None:
        return None
    try:
        return refreshed_of(text)
    except ValueError:  # streams of another release
        return None


def _await(settings: Settings, feed: Feed, views: Sequence[str], asked: Path) -> str | None:
    """The answer to a request; None if none comes, or an empty one: the request is refused."""
    taken, answer = asked.with_suffix(_TAKEN), asked.with_suffix(_ANSWERED)
    patience_until = time.monotonic() + _TAKEN_WITHIN_S
    tell_at: float | None = time.monotonic() + TELL_AFTER_S
    while True:
        # Before the look for the answer, which may come just before they end.
        is_served = is_locked(settings.state_dir) and (asked.exists() or taken.exists())
        with suppress(FileNotFoundError):
            return answer.read_text() or None
        if not is_served:
            return None
        if time.monotonic() > patience_until:
            with suppress(FileNotFoundError):
                asked.unlink()
                return None
        if tell_at is not None and time.monotonic() > tell_at:
            tell_at = None
            _tell_of_wait(settings, feed, views)
        time.sleep(_LOOK_EVERY_S)


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
        self._folder = _folder(settings)
        self._definitions = {feed.feed: feed_digest(settings, feed) for feed in feeds}
        self._ask = ask
        self._has_cleared = False
        self._strange: set[str] = set()
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
        while not self._stop.wait(_LOOK_EVERY_S):
            try:
                self._forget_others()
                self._answer()
                for asked in self._folder.glob(f"*{_ASKED}"):
                    self._take(asked)
                trouble = ""
            except Exception as problem:  # noqa: BLE001 - the next request may be one
                told = first_line(problem) or type(problem).__name__
                if told != trouble:
                    _LOG.warning("requests of refreshes wait: %s", told)
                trouble = told

    def _forget_others(self) -> None:
        """Delete, once, what was left of requests that a process before this one took."""
        if not self._has_cleared:
            for ending in (_TAKEN, _ANSWERED):
                for left in self._folder.glob(f"*{ending}"):
                    left.unlink(missing_ok=True)
            self._has_cleared = True

    def _take(self, asked: Path) -> None:
        taken = asked.with_suffix(_TAKEN)
        try:
            request = _REQUEST.validate_json(asked.read_bytes())
            asked.rename(taken)
        except FileNotFoundError:  # withdrawn
            return
        except (OSError, ValidationError) as problem:  # not of ours, or not for us to read
            if asked.name not in self._strange:
                _LOG.warning("%s is no request of a refresh: %s", asked, first_line(problem))
            self._strange.add(asked.name)
            return
        if request.process.pid <= 0 or not is_alive(request.process):
            taken.unlink(missing_ok=True)
            return
        is_ours = self._definitions.get(request.feed) == request.definition
        answers = self._ask(request.feed, request.views, request.keys) if is_ours else None
        self._under_way[taken] = answers or []

    def _answer(self) -> None:
        for taken, answers in list(self._under_way.items()):
            if all(answer.done() for answer in answers):
                self._write(taken, _text_of(answers))  # on a full disk, with the next look
                del self._under_way[taken]

    @staticmethod
    def _write(taken: Path, text: str) -> None:
        if taken.exists():  # else nobody waits any more
            replace_text(taken.with_suffix(_ANSWERED), text)


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
