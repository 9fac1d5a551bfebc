"""What streams do, as lines of text from their process to another that had a feed run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pydantic import TypeAdapter

from lake_assets.model.origins import Place
from lake_assets.model.reports import (
    BatchReport,
    DeliveryReport,
    GoldEvent,
    GoldRefreshed,
    Judged,
    SinkEvent,
    SinkFailed,
    ViewFailed,
    Waiting,
)
from lake_assets.streams.refresh_answers import answer_of, refreshed_of

FeedEvent: TypeAlias = BatchReport | Waiting | GoldEvent | SinkEvent
"""What can be told of a feed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    """One of them."""

    batch: BatchReport | None = None
    judged: Sequence[tuple[str, str, Judged]] = ()
    """Of the batch; JSON has no pairs for names."""

    offsets_from: Sequence[tuple[Place, int]] = ()
    """Of the batch's span, likewise."""

    offsets_to: Sequence[tuple[Place, int]] = ()

    waiting: Waiting | None = None
    failed: ViewFailed | None = None
    delivered: DeliveryReport | None = None
    sink_failed: SinkFailed | None = None
    gold: tuple[str, str] | None = None
    """The feed whose views were refreshed, and what that came to, as `refresh_answers` has it."""


_LINE = TypeAdapter(_Line)


def line_of(event: FeedEvent) -> str:
    """An event as a line of text."""
    if isinstance(event, BatchReport):
        judged = [(key, name, found) for (key, name), found in event.judged.items()]
        line = _Line(batch=replace(event, judged={}), judged=judged)
        if (span := event.span) is not None:
            line = replace(
                line,
                batch=replace(event, judged={}, span=replace(span, offsets_from={}, offsets_to={})),
                offsets_from=list(span.offsets_from.items()),
                offsets_to=list(span.offsets_to.items()),
            )
    elif isinstance(event, Waiting):
        line = _Line(waiting=event)
    elif isinstance(event, ViewFailed):
        line = _Line(failed=event)
    elif isinstance(event, DeliveryReport):
        line = _Line(delivered=event)
    elif isinstance(event, SinkFailed):
        line = _Line(sink_failed=event)
    else:
        line = _Line(gold=(event.feed, answer_of(event.refreshed)))
    return _LINE.dump_json(line).decode()


def event_of(text: str) -> FeedEvent:
    """What `line_of` wrote down.

    Raises:
        ValueError: the text is no such line.
    """
    line = _LINE.validate_json(text)
    if line.batch is not None:
        judged = {(key, name): found for key, name, found in line.judged}
        span = line.batch.span and replace(
            line.batch.span,
            offsets_from=dict(line.offsets_from),
            offsets_to=dict(line.offsets_to),
        )
        return replace(line.batch, judged=judged, span=span)
    if line.gold is not None:
        feed, refreshed = line.gold
        return GoldRefreshed(feed=feed, refreshed=refreshed_of(refreshed))
    event = line.waiting or line.failed or line.delivered or line.sink_failed
    if event is None:
        message = "the line tells nothing"
        raise ValueError(message)
    return event
