"""What the streams find of expectations, kept for whoever refreshes gold and shows checks."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import expectations_of_tables
from lake_assets.model.reports import BatchReport
from lake_assets.model.severity import severity_of, share_in_words
from lake_assets.settings.schema import Settings
from lake_assets.state.failing_expectations import Verdict, note_verdicts

_LOG = logging.getLogger(__name__)

_Told = TypeVar("_Told")


class FailureBook:
    """Takes in batches; a failure is known before Spark may count its batch as done."""

    def __init__(self, settings: Settings, feeds: Sequence[Feed]) -> None:
        """Keep what fails of these feeds beside the lake's tables."""
        self._state_dir = settings.state_dir
        self._feeds = {feed.feed: feed for feed in feeds}

    def note(self, report: BatchReport) -> None:
        """Take in a batch: an expectation fails for a key if the key's last rows violate it."""
        verdicts = verdicts_of(self._feeds[report.feed], report)
        if not verdicts:
            return
        try:
            note_verdicts(self._state_dir, report.feed, verdicts, datetime.now(UTC))
        except (LakeError, OSError) as problem:
            _LOG.warning("what fails could not be noted: %s", problem)


def verdicts_of(feed: Feed, report: BatchReport) -> list[Verdict]:
    """How the keys of a batch fared; what the feed does not expect any more is left out."""
    expectations = {expectation.name: expectation for expectation in expectations_of_tables(feed)}
    return [
        Verdict(
            key=key,
            name=name,
            severity=severity_of(expectations[name], judged),
            words=share_in_words(judged),
        )
        for (key, name), judged in report.judged.items()
        if name in expectations
    ]


def tee(*heard: Callable[[_Told], None]) -> Callable[[_Told], None]:
    """Tells all of them, in their order."""

    def tell(told: _Told) -> None:
        for listener in heard:
            listener(told)

    return tell
