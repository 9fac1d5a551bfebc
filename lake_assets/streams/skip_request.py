"""Asking that a batch that failed again and again be skipped, or tried again.

The request is a file beside the count of its failures; the process of the streams, which may be
another one or begin later, does what it says (`streams.skip_batch`, `streams.waiting_rows`).
"""

import logging
from pathlib import Path

from lake_assets.errors import StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.state.batch_strikes import (
    Strikes,
    forget_strikes,
    read_strikes,
    strikes_by_stage,
    strikes_file,
)

_LOG = logging.getLogger(__name__)


def ask_to_skip(state_dir: Path, feed: Feed) -> list[Strikes]:
    """Ask that the batches at which a feed failed last be skipped; which those are.

    Raises:
        StreamError: it failed at none.
        OSError: the state folder cannot be written.
    """
    failed = _failed(state_dir, feed)
    for stage, strikes in failed.items():
        replace_text(request_file(state_dir, feed, stage), strikes.batch.begin)
    return list(failed.values())


def ask_to_retry(state_dir: Path, feed: Feed) -> list[Strikes]:
    """Ask that the batches at which a feed failed last be tried again; raises as `ask_to_skip`."""
    failed = _failed(state_dir, feed)
    for stage in failed:
        forget_strikes(strikes_file(state_dir, feed.feed, stage))
    return list(failed.values())


def request_file(state_dir: Path, feed: Feed, stage: Stage) -> Path:
    """Where a request lies: it names where the batch begins, and no other is meant by it."""
    return strikes_file(state_dir, feed.feed, stage).with_suffix(".skip")


def is_released(state_dir: Path, feed: Feed, stage: Stage) -> bool:
    """Whether somebody asked for something about the batch that a stage failed at last."""
    is_forgotten = read_strikes(strikes_file(state_dir, feed.feed, stage)) is None
    return is_forgotten or request_file(state_dir, feed, stage).exists()


def is_asked_to_skip(state_dir: Path, feed: Feed, stage: Stage, begin: str | None) -> bool:
    """Whether somebody asked for the batch that begins there; None if no batch is to come.

    A request for another one no longer applies: it is withdrawn, and the log says so.
    """
    try:
        asked = request_file(state_dir, feed, stage).read_bytes()
    except FileNotFoundError:
        return False
    if begin is not None and asked == begin.encode():
        return True
    withdraw_outdated(state_dir, feed, stage)
    return False


def withdraw_outdated(state_dir: Path, feed: Feed, stage: Stage) -> None:
    """Delete a request, if any, whose batch does not come next any more; the log says so."""
    if not request_file(state_dir, feed, stage).exists():
        return
    _LOG.warning(
        "%s of feed %r skips nothing: the batch that it was asked for is not the next one any "
        "more. If another one fails, ask again",
        stage,
        feed.feed,
    )
    end_request(state_dir, feed, stage)


def end_request(state_dir: Path, feed: Feed, stage: Stage) -> None:
    """Delete a request, which was done."""
    request_file(state_dir, feed, stage).unlink(missing_ok=True)


def _failed(state_dir: Path, feed: Feed) -> dict[Stage, Strikes]:
    found = strikes_by_stage(state_dir, feed.feed)
    failed = {stage: strikes for stage, strikes in found.items() if strikes.count}
    if not failed:
        raise StreamError(
            f"feed {feed.feed!r}",
            "has no batch that failed last",
            "There is nothing to skip or to try again; see `lake-assets tables` for its lag",
        )
    return failed
